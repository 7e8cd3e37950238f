package layers

import (
	"context"
	"fmt"
	"math/rand/v2"

	"calibra/data"
	"calibra/graph"

	"gorgonia.org/tensor"
)

// Original is the classifier's own head on the undivided space: log p̂ is the
// log-softmax of the logits.
type Original struct{ sizes Sizes }

var _ Base = (*Original)(nil)

// Fit counts the classes of the labels, if there are any; there is nothing to learn.
func (o *Original) Fit(_ context.Context, cal, _ *data.Set, _ *rand.Rand) error {
	if cal.Logits == nil {
		return fmt.Errorf("layers: the calibration rows have no logits to calibrate")
	}
	if cal.Labels != nil {
		if _, err := targetOf(cal, cal.Classes(), tensor.Float64); err != nil {
			return err
		}
	}
	o.sizes = SizesOf(cal)
	if cal.Features != nil {
		_, o.sizes.Features = cal.Features.Dims()
	}
	return nil
}

// View is the log-softmax of x's logits, as [data.LogProbs].
func (o *Original) View(x *data.Set) (*View, error) {
	if o.sizes.Classes == 0 {
		return nil, ErrUnfitted
	}
	if x.Classes() != o.sizes.Classes {
		return nil, fmt.Errorf("layers: the rows have logits of %d classes, the model was fitted on %d", x.Classes(), o.sizes.Classes)
	}
	return &View{LogProbs: data.LogProbs(x.Logits)}, nil
}

// Sizes has C, the class counts and, of rows with features, M.
func (o *Original) Sizes() Sizes { return o.sizes }

// State is the sizes; there are no weights.
func (o *Original) State() (State, error) {
	if o.sizes.Classes == 0 {
		return State{}, ErrUnfitted
	}
	return StateOf(o.sizes, graph.NewWeights(tensor.Float32))
}

func (o *Original) Restore(s State) error {
	if err := s.Weights.Require(nil); err != nil {
		return err
	}
	sizes, err := ReadSizes(s.Config)
	if err != nil {
		return err
	}
	o.sizes = sizes
	return nil
}

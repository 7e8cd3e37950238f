package layers

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/op"
	"calibra/optim"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Temperature scaling (Guo et al. 2017): softmax(logits / T) with the T = eᵗ in
// [1e-3, 1e3] that minimizes the negative log-likelihood of the calibration rows,
// to a derivative by t below 1e-8. There is nothing to stop early: validation rows
// are not looked at, and an interrupted fit keeps nothing.
type Temperature struct {
	// Result of the last Fit. It says so if T ends on a bound.
	Result optim.Result

	sizes   Sizes
	weights *graph.Weights // temperature/log (1) = t
}

var _ Stateful = (*Temperature)(nil)

// T is the fitted temperature; above 1 the classifier was overconfident.
func (m *Temperature) T() float64 { return math.Exp(m.weights.Float64s("temperature/log")[0]) }

// Fit minimizes over t in float64.
func (m *Temperature) Fit(ctx context.Context, cal, _ *data.Set, _ *rand.Rand) error {
	if cal.Logits == nil {
		return fmt.Errorf("layers: temperature scaling needs logits of the calibration rows")
	}
	labels, err := labelsOf(cal, cal.Classes())
	if err != nil {
		return err
	}
	w := graph.NewWeights(tensor.Float64)
	w.Add("temperature/log", []float64{0}, 1)
	logits := graph.Matrix(tensor.Float64, cal.Logits)
	loss := graph.NewObjective(w, func(b *graph.Builder) *gorgonia.Node {
		// logits · e^(−t)
		inverse := b.Apply(op.Exp(1), b.Apply(op.Scale(1, -1), b.Weight("temperature/log")))
		return meanNLL(b, b.LogSoftmax(b.Apply(op.Stretch(), b.Take("logits", logits), inverse)), labels)
	})
	bound := math.Log(1e3)
	m.Result, err = optim.Bisect(ctx, optim.Problem{Loss: loss, Rows: cal.Len()}, -bound, bound, 1e-8)
	if err != nil {
		return fmt.Errorf("layers: fit temperature: %w", err)
	}
	m.sizes, m.weights = Sizes{Classes: cal.Classes(), Counts: classCounts(cal)}, w
	return nil
}

// Predict is log softmax(logits / T).
func (m *Temperature) Predict(x *data.Set) (*data.Predictions, error) {
	if m.weights == nil {
		return nil, ErrUnfitted
	}
	if x.Classes() != m.sizes.Classes {
		return nil, fmt.Errorf("layers: the rows have logits of %d classes, the model was fitted on %d", x.Classes(), m.sizes.Classes)
	}
	var scaled mat.Dense
	scaled.Scale(1/m.T(), x.Logits)
	return data.NewPredictions(LogSoftmax(&scaled), x.Labels)
}

// State is t and the sizes.
func (m *Temperature) State() (State, error) {
	if m.weights == nil {
		return State{}, ErrUnfitted
	}
	config, err := json.Marshal(m.sizes)
	return State{config, m.weights}, err
}

// Restore sets t and the sizes.
func (m *Temperature) Restore(s State) error {
	if err := s.Weights.Require(map[string]tensor.Shape{"temperature/log": {1}}); err != nil {
		return err
	}
	sizes, err := ReadSizes(s.Config)
	if err != nil {
		return err
	}
	m.sizes, m.weights = sizes, s.Weights
	return nil
}

package encoders

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"

	"calibra/data"
	"calibra/graph"
	"calibra/optim"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Settings of [Train].
type Settings struct {
	Optim optim.Settings
	// Start are weights to begin from, by name, in place of the network's own
	// draws, such as the weights of an interrupted fit.
	Start *graph.Weights
	// Checkpoint is called after each epoch whose weights are the best so far, with
	// a model of those weights; it may be nil.
	Checkpoint func(*Model, optim.Epoch)
	// Others are rows for later use of the model. They are checked before it is trained,
	// like the training rows.
	Others []*data.Inputs
	// Type is the float type that the model is trained and encodes in; the zero value:
	// float32. In a hundred epochs the rounding errors of float32 grow until they show;
	// those of float64 do not, in whatever order a BLAS sums.
	Type tensor.Dtype
}

// Train fits the network on train's rows by cross-entropy, stopping early on the
// NLL of val if it is given. There are as many classes as train names, or else as
// its largest label implies. If ctx is cancelled the model of the best weights so far is
// returned with an error that wraps ctx.Err().
func Train(ctx context.Context, n Network, train, val *data.Inputs, s Settings, rng *rand.Rand) (*Model, optim.Result, error) {
	if val != nil {
		s.Others = append(s.Others[:len(s.Others):len(s.Others)], val)
	}
	m, err := Start(n, train, s, rng)
	if err != nil {
		return nil, optim.Result{}, err
	}
	result, err := m.fit(ctx, train, val, s, rng)
	if err != nil && !errors.Is(err, ctx.Err()) {
		return nil, result, fmt.Errorf("train the encoder: %w", err)
	}
	return m, result, err
}

// Start is the model that [Train] begins with: the network's own draws, or the
// weights of s.Start, standardizing rows by train.
func Start(n Network, train *data.Inputs, s Settings, rng *rand.Rand) (*Model, error) {
	if train == nil || train.Len() == 0 {
		return nil, fmt.Errorf("encoders: training needs rows with labels")
	}
	if err := (Scale{}).check(train); err != nil {
		return nil, err
	}
	m := &Model{Network: n, Config: Config{Architecture: n.Name(), Shape: train.Shape, Classes: classesOf(train)}}
	m.Config.Scale = fitScale(train, categoriesOf(n))
	if err := m.Config.check(); err != nil {
		return nil, data.Inputf("", "%w", err)
	}
	for _, rows := range append([]*data.Inputs{train}, s.Others...) {
		if err := rows.Fits(train.Shape); err != nil {
			return nil, err
		}
		if err := m.Config.Scale.check(rows); err != nil {
			return nil, err
		}
	}
	w, err := n.Init(train.Shape, m.Classes(), rng)
	if err != nil {
		return nil, err
	}
	m.weights = w.As(cmp.Or(s.Type, tensor.Float32))
	if s.Start != nil {
		if err := assign(m.weights, s.Start); err != nil {
			return nil, data.Inputf("", "%w", err)
		}
	}
	return m, nil
}

func (m *Model) fit(ctx context.Context, train, val *data.Inputs, s Settings, rng *rand.Rand) (optim.Result, error) {
	dt := m.weights.Dtype()
	counter := graph.NewWeights(dt)
	counter.AddState(stepName, []float64{0}, 1)
	all := graph.NewWeights(dt).Join(m.weights, counter)
	one := graph.Tensor(dt, []float64{1}, 1)

	loss := func(in *data.Inputs, t *training) (func(*graph.Builder) *gorgonia.Node, error) {
		x, err := m.table(in)
		labels := graph.Labels(in.Labels)
		return func(b *graph.Builder) *gorgonia.Node {
			_, logits := m.Network.Forward(&Pass{Builder: b, Shape: in.Shape, train: t}, b.Take("x", x))
			return b.NLL(b.LogSoftmax(logits), b.Take("labels", labels))
		}, err
	}
	step, err := loss(train, &training{one, sync.OnceValue(rng.Uint64)})
	if err != nil {
		return optim.Result{}, err
	}
	problem := optim.Problem{Loss: graph.NewObjective(all, step), Rows: train.Len()}
	if val != nil {
		held, err := loss(val, nil)
		if err != nil {
			return optim.Result{}, err
		}
		f := graph.NewFunction(m.weights, func(b *graph.Builder) gorgonia.Nodes { return gorgonia.Nodes{held(b)} })
		problem.Validation = func(s graph.Session) (float64, error) { return s.Mean(f, val.Len(), batchOf(val.Shape)) }
	}
	var lost error
	if s.Checkpoint != nil {
		s.Optim.Observe = s.checkpointed(m, &lost)
	}
	result, err := optim.Minimize(ctx, problem, s.Optim, rng)
	return result, cmp.Or(err, lost)
}

// checkpointed is the observer of the fit, after the checkpoint of each epoch that is the best so far, until one is
// lost.
func (s Settings) checkpointed(m *Model, lost *error) func(optim.Epoch) {
	observe := s.Optim.Observe
	return func(e optim.Epoch) {
		if e.Best == e.Number && *lost == nil {
			if *lost = e.Fetch(); *lost == nil {
				s.Checkpoint(m, e)
			}
		}
		if observe != nil {
			observe(e)
		}
	}
}

// table is the standardized rows, N×width, in the weights' float type.
func (m *Model) table(in *data.Inputs) (*tensor.Dense, error) {
	width := in.Width()
	x := tensor.New(tensor.Of(m.weights.Dtype()), tensor.WithShape(in.Len(), width))
	rows := make([]float32, evaluationBatch*width)
	for lo := 0; lo < in.Len(); lo += evaluationBatch {
		hi := min(lo+evaluationBatch, in.Len())
		in.Read(rows, lo, hi)
		if err := checkCategories(m.Network, rows[:(hi-lo)*width], width); err != nil {
			return nil, err
		}
		m.Config.Scale.apply(x, lo, rows[:(hi-lo)*width])
	}
	return x, nil
}

func classesOf(in *data.Inputs) []string {
	if in.Classes != nil {
		return in.Classes
	}
	return data.Numerals(slices.Max(in.Labels) + 1)
}

package baselines

import (
	"context"
	"math/rand/v2"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/onnx"
	"calibra/layers"
	"calibra/optim"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Dirichlet calibration (Kull et al. 2019) by unregularized maximum likelihood, to
// convergence from the identity:
//
//	posterior = softmax(ℓ W + b) ,  ℓ = log(p̂ + 1e-12)
//
// with the 1e-12 of the published runs. The columns of ℓ are far from 0 and strongly
// correlated, which slows any first-order method down, so W and b are fitted as a map
// of the whitened ℓ̃ = (ℓ − m)R, RRᵀ = Cov(ℓ)⁻¹, to which Result's gradient belongs;
// for an unregularized likelihood that is the same problem. The optimum is unique as a
// map, not in W and b: adding one vector to all columns of W, or one number
// to b, changes nothing.
type Dirichlet struct {
	Method optim.Method // nil: L-BFGS

	Fitted
}

var _ layers.Stateful = (*Dirichlet)(nil)

// Fit learns from cal; there is nothing to stop early.
func (m *Dirichlet) Fit(ctx context.Context, cal, _ *data.Set, rng *rand.Rand) error {
	_, l, err := logProbsToFit(cal)
	if err != nil {
		return wrap("Dirichlet calibration", err)
	}
	white, err := whiten(floored(l))
	if err == nil {
		err = m.fitWhitened(ctx, whitenedMap{whitening: white}, white, white.start(), cal, m.Method, rng)
	}
	return wrap("Dirichlet calibration", err)
}

// fitWhitened fits a map of whitened inputs from its start and keeps it as the map of ℓ.
func (f *Fitted) fitWhitened(
	ctx context.Context, m layers.Map, white whitening, start *graph.Weights, cal *data.Set, method optim.Method, rng *rand.Rand,
) error {
	err := f.fit(ctx, m, cal, start, method, rng)
	if w := f.Weights(); w != nil { // fitted, to the end or not
		white.undo(w)
		f.Map = dirichletMap{}
	}
	return err
}

// Restore sets W and b.
func (m *Dirichlet) Restore(s layers.State) error { return m.restore(dirichletMap{}, s) }

// dirichletMap has weights dirichlet/weight (C×C) and dirichlet/bias (C). Its input is ℓ
// with its floor.
type dirichletMap struct{ flooredInput }

func (dirichletMap) Init(s layers.Sizes, _ *rand.Rand) (*graph.Weights, error) {
	w := graph.NewWeights(tensor.Float64)
	w.Add("dirichlet/weight", identity(s.Classes), s.Classes, s.Classes)
	w.Add("dirichlet/bias", make([]float64, s.Classes), s.Classes)
	return w, nil
}

// flooredInput is ℓ with its floor.
type flooredInput struct{}

func (flooredInput) Inputs(v *layers.View, _ *graph.Weights) (map[string]mat.Matrix, error) {
	return map[string]mat.Matrix{"floored": floored(v.LogProbs)}, nil
}

func (flooredInput) InputsONNX(g *onnx.Network, v *layers.ONNXView, _ *graph.Weights) (map[string]onnx.Value, error) {
	return map[string]onnx.Value{"floored": flooredONNX(g, v.LogProbs)}, nil
}

func (dirichletMap) LogProbs(b *graph.Builder, in layers.Batch) *gorgonia.Node {
	return b.LogSoftmax(b.Linear("dirichlet", in.Input(b, "floored")))
}

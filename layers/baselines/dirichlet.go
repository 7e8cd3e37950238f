package baselines

import (
	"context"
	"math/rand/v2"

	"calibra/data"
	"calibra/graph"
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
	Optim optim.LBFGSSettings

	Fitted
}

var _ layers.Stateful = (*Dirichlet)(nil)

// Fit learns from cal; there is nothing to stop early.
func (m *Dirichlet) Fit(ctx context.Context, cal, _ *data.Set, _ *rand.Rand) (err error) {
	white, w, err := whitenedStart(cal)
	if err != nil {
		return wrap("Dirichlet calibration", err)
	}
	err = m.fit(ctx, whitenedMap{whitening: white}, cal, w, lbfgs(m.Optim))
	if m.w == w { // fitted, to the end or not
		white.undo(w)
	}
	return wrap("Dirichlet calibration", err)
}

// Predict is log softmax(ℓ W + b).
func (m *Dirichlet) Predict(x *data.Set) (*data.Predictions, error) {
	return m.predict(dirichletMap{}, x)
}

// State is W and b.
func (m *Dirichlet) State() (layers.State, error) { return m.state() }

// Restore sets them.
func (m *Dirichlet) Restore(s layers.State) error { return m.restore(dirichletMap{}, s) }

// dirichletMap has weights dirichlet/weight (C×C) and dirichlet/bias (C).
type dirichletMap struct{ multinomial }

func (dirichletMap) weights(s layers.Sizes) *graph.Weights {
	w := graph.NewWeights(tensor.Float64)
	w.Add("dirichlet/weight", identity(s.Classes), s.Classes, s.Classes)
	w.Add("dirichlet/bias", make([]float64, s.Classes), s.Classes)
	return w
}

func (dirichletMap) inputs(l *mat.Dense, _ *data.Set, _ *graph.Weights) ([]*mat.Dense, error) {
	return []*mat.Dense{floored(l)}, nil
}

func (dirichletMap) scores(b *graph.Builder, in gorgonia.Nodes) *gorgonia.Node {
	return b.Linear("dirichlet", in[0])
}

package baselines

import (
	"context"
	"math"
	"math/rand/v2"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/op"
	"calibra/layers"
	"calibra/optim"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Beta calibration (Kull, Silva Filho and Flach 2017), one-vs-rest:
//
//	p_k ∝ σ(a_k log p̂_k − b_k log(1 − p̂_k) + c_k) ,  a_k, b_k ≥ 0
//
// by maximum likelihood from the identity a = b = 1, c = 0. The constraint is kept by
// a = eᵘ and b = eᵛ, so that a coefficient which ought to be 0 only nears it.
// p̂ and 1 − p̂ have 1e-12 added before the logarithm.
type Beta struct {
	Optim optim.LBFGSSettings

	Fitted
}

var _ layers.Stateful = (*Beta)(nil)

// Fit learns from cal; there is nothing to stop early.
func (m *Beta) Fit(ctx context.Context, cal, _ *data.Set, _ *rand.Rand) error {
	return wrap("beta calibration", m.fit(ctx, betaMap{}, cal, nil, lbfgs(m.Optim)))
}

// Predict gives the normalized one-vs-rest probabilities.
func (m *Beta) Predict(x *data.Set) (*data.Predictions, error) { return m.predict(betaMap{}, x) }

// State is u, v and c.
func (m *Beta) State() (layers.State, error) { return m.state() }

// Restore sets them.
func (m *Beta) Restore(s layers.State) error { return m.restore(betaMap{}, s) }

// betaMap has weights beta/success (u), beta/failure (v) and beta/bias (c), all of
// length C. Its inputs are log p̂ and −log(1 − p̂).
type betaMap struct{ oneVsRest }

func (betaMap) weights(s layers.Sizes) *graph.Weights {
	w := graph.NewWeights(tensor.Float64)
	for _, name := range []string{"beta/success", "beta/failure", "beta/bias"} {
		w.Add(name, make([]float64, s.Classes), s.Classes)
	}
	return w
}

func (betaMap) inputs(l *mat.Dense, _ *data.Set, _ *graph.Weights) ([]*mat.Dense, error) {
	var failure mat.Dense
	failure.Apply(func(_, _ int, v float64) float64 {
		return -math.Log(-math.Expm1(min(v, 0)) + probabilityFloor)
	}, l)
	return []*mat.Dense{floored(l), &failure}, nil
}

func (betaMap) scores(b *graph.Builder, in gorgonia.Nodes) *gorgonia.Node {
	success := b.Apply(op.TimesRow(), in[0], b.Apply(op.Exp(1), b.Weight("beta/success")))
	failure := b.Apply(op.TimesRow(), in[1], b.Apply(op.Exp(1), b.Weight("beta/failure")))
	return b.AddRow(b.Plus(success, failure), b.Weight("beta/bias"))
}

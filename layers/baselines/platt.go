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

// Platt scaling as in the paper's tables: for each class k one logistic regression
// on the whole probability vector,
//
//	p_k ∝ σ(w_kᵀ p̂ + c_k) ,  minimize ½‖w_k‖² + Σ_i log-loss_ik
//
// with the intercept free; scikit-learn's LogisticRegression with C = 1. Platt
// (1999) has one score, its own margin, for each class.
type Platt struct {
	Optim optim.LBFGSSettings

	Fitted
}

var _ layers.Stateful = (*Platt)(nil)

// plattMap has weights platt/weight (C×C) and platt/bias (C).
type plattMap struct{ oneVsRest }

// Fit learns from cal; there is nothing to stop early.
func (m *Platt) Fit(ctx context.Context, cal, _ *data.Set, _ *rand.Rand) error {
	return wrap("Platt scaling", m.fit(ctx, plattMap{}, cal, nil, lbfgs(m.Optim)))
}

// Predict gives the normalized one-vs-rest probabilities.
func (m *Platt) Predict(x *data.Set) (*data.Predictions, error) { return m.predict(plattMap{}, x) }

// State is the regressions' weights.
func (m *Platt) State() (layers.State, error) { return m.state() }

// Restore sets them.
func (m *Platt) Restore(s layers.State) error { return m.restore(plattMap{}, s) }

func (plattMap) weights(s layers.Sizes) *graph.Weights {
	w := graph.NewWeights(tensor.Float64)
	w.Add("platt/weight", make([]float64, s.Classes*s.Classes), s.Classes, s.Classes)
	w.Add("platt/bias", make([]float64, s.Classes), s.Classes)
	return w
}

func (plattMap) inputs(l *mat.Dense, _ *data.Set, _ *graph.Weights) ([]*mat.Dense, error) {
	return []*mat.Dense{exponentials(l)}, nil
}

func (plattMap) scores(b *graph.Builder, in gorgonia.Nodes) *gorgonia.Node {
	return b.Linear("platt", in[0])
}

// loss is the summed objective divided by n.
func (p plattMap) loss(b *graph.Builder, scores, labels *gorgonia.Node, n int) *gorgonia.Node {
	return b.Plus(p.oneVsRest.loss(b, scores, labels, n), penalty(b, "platt/weight", 1/(2*float64(n))))
}

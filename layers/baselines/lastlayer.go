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

// LastLayer is a new last layer on the classifier's features, beside what it said:
//
//	posterior = softmax(ℓ + Δᵀℓ + Vᵀz + b) ,  z the standardized features
//
// from Δ = V = 0, b = 0, minimizing mean NLL + (λ/n)(‖Δ‖² + ‖V‖²). It is a control and
// nobody's method: a method that divides the features into regions should do better than
// these features do undivided.
type LastLayer struct {
	Strength float64 // λ; 0: 10
	Optim    optim.LBFGSSettings

	Fitted
}

var _ layers.Stateful = (*LastLayer)(nil)

// Fit learns from cal, which needs features; there is nothing to stop early.
func (m *LastLayer) Fit(ctx context.Context, cal, _ *data.Set, _ *rand.Rand) error {
	sizes, err := sizesOf(cal)
	if err != nil {
		return err
	}
	if err := requireFeatures(cal, sizes.Features); err != nil {
		return err
	}
	scale := data.FitStandardizer(cal.Features)
	w := lastLayerWeights(sizes.Classes, scale)
	return wrap("the last layer", m.fit(ctx, lastLayerMap{strength: orDefault(m.Strength, 10)}, cal, w, lbfgs(m.Optim)))
}

// Predict is log softmax(ℓ + Δᵀℓ + Vᵀz + b).
func (m *LastLayer) Predict(x *data.Set) (*data.Predictions, error) {
	return m.predict(lastLayerMap{}, x)
}

// State is Δ, V, b and the standardizer.
func (m *LastLayer) State() (layers.State, error) { return m.state() }

// Restore sets them.
func (m *LastLayer) Restore(s layers.State) error { return m.restore(lastLayerMap{}, s) }

// lastLayerMap has weights last/logits/weight (C×C, Δ), last/logits/bias (C, b),
// last/features (M×C, V) and as state the standardizer. Its inputs are ℓ and z.
type lastLayerMap struct {
	multinomial
	strength float64
}

func lastLayerWeights(classes int, scale *data.Standardizer) *graph.Weights {
	m := len(scale.Mean)
	w := graph.NewWeights(tensor.Float64)
	w.Add("last/logits/weight", make([]float64, classes*classes), classes, classes)
	w.Add("last/logits/bias", make([]float64, classes), classes)
	w.Add("last/features", make([]float64, m*classes), m, classes)
	w.AddState("norm/mean", scale.Mean, m)
	w.AddState("norm/sd", scale.SD, m)
	return w
}

func (lastLayerMap) weights(s layers.Sizes) *graph.Weights {
	return lastLayerWeights(s.Classes, &data.Standardizer{Mean: make([]float64, s.Features), SD: ones(s.Features)})
}

func (lastLayerMap) inputs(l *mat.Dense, x *data.Set, w *graph.Weights) ([]*mat.Dense, error) {
	scale := data.Standardizer{Mean: w.Float64s("norm/mean"), SD: w.Float64s("norm/sd")}
	if err := requireFeatures(x, len(scale.Mean)); err != nil {
		return nil, err
	}
	return []*mat.Dense{floored(l), scale.Apply(x.Features)}, nil
}

func (lastLayerMap) scores(b *graph.Builder, in gorgonia.Nodes) *gorgonia.Node {
	if b.Err() != nil {
		return nil
	}
	said := b.Plus(in[0], b.Linear("last/logits", in[0]))
	return b.Plus(said, b.MatMul(in[1], b.Weight("last/features")))
}

func (m lastLayerMap) loss(b *graph.Builder, scores, labels *gorgonia.Node, n int) *gorgonia.Node {
	strength := m.strength / float64(n)
	loss := b.Plus(m.multinomial.loss(b, scores, labels, n), penalty(b, "last/logits/weight", strength))
	return b.Plus(loss, penalty(b, "last/features", strength))
}

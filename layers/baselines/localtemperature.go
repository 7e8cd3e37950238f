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

// LocalTemperature is local temperature scaling: a temperature for each row,
//
//	posterior = softmax(ℓ e^(−t − uᵀz)) ,  T(x) = e^(t + uᵀz)
//
// after Ding et al. (2021), whose T(x) is a small convolutional network of a pixel's
// surroundings in image and logits. A feature vector has no surroundings, so here
// log T is linear in z, the 50 leading principal components of the standardized
// features, each divided by its standard deviation. Maximum likelihood with the
// penalty ‖u‖²/n, the weight of a standard normal prior on √2·u, from T = 1.
type LocalTemperature struct {
	Optim optim.LBFGSSettings

	Fitted
}

var _ layers.Stateful = (*LocalTemperature)(nil)

// Fit learns from cal, which needs features; there is nothing to stop early.
func (m *LocalTemperature) Fit(ctx context.Context, cal, _ *data.Set, _ *rand.Rand) error {
	e, err := fitEmbedding(cal)
	if err != nil {
		return wrap("local temperatures", err)
	}
	w := temperatures(e)
	return wrap("local temperatures", m.fit(ctx, localTemperatureMap{}, cal, w, lbfgs(m.Optim)))
}

// Predict is log softmax(ℓ / T(x)).
func (m *LocalTemperature) Predict(x *data.Set) (*data.Predictions, error) {
	return m.predict(localTemperatureMap{}, x)
}

// State is t, u and the embedding.
func (m *LocalTemperature) State() (layers.State, error) { return m.state() }

// Restore sets them.
func (m *LocalTemperature) Restore(s layers.State) error { return m.restore(localTemperatureMap{}, s) }

// localTemperatureMap has weights temperature/weight (P×1), temperature/log (1) and
// the embedding's. Its inputs are ℓ and z.
type localTemperatureMap struct{ multinomial }

func temperatures(e *data.Embedding) *graph.Weights {
	w := graph.NewWeights(tensor.Float64)
	p := len(e.Variances)
	w.Add("temperature/weight", make([]float64, p), p, 1)
	w.Add("temperature/log", []float64{0}, 1)
	addEmbedding(w, e)
	return w
}

func (localTemperatureMap) weights(s layers.Sizes) *graph.Weights {
	return temperatures(blankEmbedding(s))
}

func (localTemperatureMap) inputs(l *mat.Dense, x *data.Set, w *graph.Weights) ([]*mat.Dense, error) {
	z, err := embed(w, x)
	if err != nil {
		return nil, err
	}
	variances := w.Float64s("embedding/variances")
	z.Apply(func(_, j int, v float64) float64 { return v / math.Sqrt(max(variances[j], 1e-12)) }, z)
	return []*mat.Dense{l, z}, nil
}

func (localTemperatureMap) scores(b *graph.Builder, in gorgonia.Nodes) *gorgonia.Node {
	if b.Err() != nil {
		return nil
	}
	l, z := in[0], in[1]
	log := b.AddRow(b.MatMul(z, b.Weight("temperature/weight")), b.Weight("temperature/log")) // B×1
	inverse := b.Apply(op.Exp(2), b.Apply(op.Scale(2, -1), log))                              // 1/T
	c := l.Shape()[1]
	return b.Times(l, b.MatMul(inverse, b.Table("all_classes", graph.Tensor(tensor.Float64, ones(c), 1, c))))
}

func (m localTemperatureMap) loss(b *graph.Builder, scores, labels *gorgonia.Node, n int) *gorgonia.Node {
	return b.Plus(m.multinomial.loss(b, scores, labels, n), penalty(b, "temperature/weight", 1/float64(n)))
}

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

// PublishedDirichlet is [Dirichlet] with the optimizer behind published tables,
// L-BFGS with a fixed rate of 1e-3 and no line search, which stops short of the
// optimum. It explains published numbers and is no default.
type PublishedDirichlet struct {
	Optim optim.FixedLBFGS // Iterations 0: 1000

	Fitted
}

// PublishedTemperature is temperature scaling by the same optimizer, started at
// T = 1.5 and stepping in T itself. The converged one is layers.Temperature.
type PublishedTemperature struct {
	Optim optim.FixedLBFGS // Iterations 0: 1000; some published runs had 2000

	Fitted
}

var (
	_ layers.Stateful = (*PublishedDirichlet)(nil)
	_ layers.Stateful = (*PublishedTemperature)(nil)
)

// Fit learns from cal.
func (m *PublishedDirichlet) Fit(ctx context.Context, cal, _ *data.Set, _ *rand.Rand) error {
	return wrap("Dirichlet calibration as published", m.fit(ctx, dirichletMap{}, cal, nil, m.Optim.Minimize))
}

// Predict is log softmax(ℓ W + b).
func (m *PublishedDirichlet) Predict(x *data.Set) (*data.Predictions, error) {
	return m.predict(dirichletMap{}, x)
}

// State is W and b.
func (m *PublishedDirichlet) State() (layers.State, error) { return m.state() }

// Restore sets them.
func (m *PublishedDirichlet) Restore(s layers.State) error { return m.restore(dirichletMap{}, s) }

// T is the temperature reached.
func (m *PublishedTemperature) T() float64 { return m.w.Float64s("temperature")[0] }

// Fit learns from cal.
func (m *PublishedTemperature) Fit(ctx context.Context, cal, _ *data.Set, _ *rand.Rand) error {
	return wrap("temperature as published", m.fit(ctx, temperatureMap{}, cal, nil, m.Optim.Minimize))
}

// Predict is log softmax(ℓ / T).
func (m *PublishedTemperature) Predict(x *data.Set) (*data.Predictions, error) {
	return m.predict(temperatureMap{}, x)
}

// State is T.
func (m *PublishedTemperature) State() (layers.State, error) { return m.state() }

// Restore sets T.
func (m *PublishedTemperature) Restore(s layers.State) error { return m.restore(temperatureMap{}, s) }

// temperatureMap has the one weight temperature (1).
type temperatureMap struct{ multinomial }

func (temperatureMap) weights(layers.Sizes) *graph.Weights {
	w := graph.NewWeights(tensor.Float64)
	w.Add("temperature", []float64{1.5}, 1)
	return w
}

func (temperatureMap) inputs(l *mat.Dense, _ *data.Set, _ *graph.Weights) ([]*mat.Dense, error) {
	return []*mat.Dense{l}, nil
}

func (temperatureMap) scores(b *graph.Builder, in gorgonia.Nodes) *gorgonia.Node {
	// 1/T = exp(−log T), for T > 0
	log := b.Apply(op.FlooredLog(1, math.SmallestNonzeroFloat64), b.Weight("temperature"))
	return b.Apply(op.Stretch(), in[0], b.Apply(op.Exp(1), b.Apply(op.Scale(1, -1), log)))
}

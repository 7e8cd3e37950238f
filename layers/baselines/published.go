package baselines

import (
	"math"
	"math/rand/v2"

	"calibra/graph"
	"calibra/graph/op"
	"calibra/layers"
	"calibra/optim"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// PublishedDirichlet is [Dirichlet] fitted by the optimizer behind published tables, L-BFGS with a
// fixed rate of 1e-3 and no line search, which stops short of the optimum. It explains
// published numbers and is no default. Some published runs had 2000 iterations.
func PublishedDirichlet(method optim.FixedLBFGS) *Smooth {
	return &Smooth{title: "Dirichlet calibration as published", of: dirichletMap{}, method: method}
}

// PublishedTemperature is temperature scaling by the same optimizer, started at
// T = 1.5 and stepping in T itself. The converged one is layers.Temperature.
func PublishedTemperature(method optim.FixedLBFGS) *Smooth {
	return &Smooth{title: "temperature scaling as published", of: temperatureMap{}, method: method}
}

// temperatureMap has the one weight temperature (1). Its input is ℓ.
type temperatureMap struct{}

func (temperatureMap) Init(layers.Sizes, *rand.Rand) (*graph.Weights, error) {
	w := graph.NewWeights(tensor.Float64)
	w.Add("temperature", []float64{1.5}, 1)
	return w, nil
}

func (temperatureMap) LogProbs(b *graph.Builder, in layers.Batch) *gorgonia.Node {
	// 1/T = exp(−log T), for T > 0
	log := b.Apply(op.FlooredLog(1, math.SmallestNonzeroFloat64), b.Weight("temperature"))
	return b.LogSoftmax(b.Apply(op.TimesScalar(), in.LogProbs, b.Apply(op.Exp(1), b.Apply(op.Scale(1, -1), log))))
}

package anchored

import (
	"math/rand/v2"

	"calibra/graph"
	"calibra/graph/op"
	"calibra/layers"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// LocalTemperature scales all log-probabilities of a region by one factor:
//
//	posterior = softmax(e^(τ + Σ_i u_i,s(i) σ/√w) log p̂) ,  u_ik ~ N(0, 1)
//
// It never changes which class is the most probable. Weights:
// local_temperature/log_inverse (1, τ), local_temperature/correction ((w·K)×1, u)
// and the state local_temperature/spread (1, σ).
type LocalTemperature struct{}

var _ Hierarchical = LocalTemperature{}

// Init starts at τ = 0 and u = 0.
func (LocalTemperature) Init(s layers.Sizes, _ *rand.Rand) (*graph.Weights, error) {
	w := graph.NewWeights(tensor.Float64)
	w.Add("local_temperature/log_inverse", []float64{0}, 1)
	return w, addCorrection(w, "local_temperature", s, 1)
}

// Spread is σ.
func (LocalTemperature) Spread() Spread { return spreadOf("local_temperature", "correction") }

// Coarser is one temperature.
func (LocalTemperature) Coarser() layers.Map { return Tempered{} }

func (LocalTemperature) LogProbs(b *graph.Builder, in layers.Batch) *gorgonia.Node {
	log := b.AddRow(correction(b, in, "local_temperature"), b.Weight("local_temperature/log_inverse")) // B×1
	return b.LogSoftmax(b.Times(in.LogProbs, in.EachClass(b, b.Apply(op.Exp(2), log))))
}

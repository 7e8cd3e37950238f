package anchored

import (
	"math/rand/v2"

	"calibra/graph"
	"calibra/graph/op"
	"calibra/layers"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Gated mixes the posterior of one temperature with that of [Tables], by how much
// of the calibration rows supports the region's codewords:
//
//	posterior = (1 − g)·softmax(t·log p̂) + g·softmax(t·log p̂ + Σ_i h_i,s(i))
//	g = sigmoid(a + c·n̄) ,  n̄ = mean_i log(1 + N_i,s(i))
//
// with h as in Anchored. Weights: gated/inverse_temperature, gated/level (a) and
// gated/slope (c), 1 each, gated/correction ((w·K)×C, u) and the state gated/spread
// (1, σ).
type Gated struct{}

var _ Hierarchical = Gated{}

// Init starts at t = 1, g = 1/2 and u = 0.
func (Gated) Init(s layers.Sizes, _ *rand.Rand) (*graph.Weights, error) {
	w := graph.NewWeights(tensor.Float64)
	w.Add("gated/inverse_temperature", []float64{1}, 1)
	w.Add("gated/level", []float64{0}, 1)
	w.Add("gated/slope", []float64{0}, 1)
	return w, addCorrection(w, "gated", s, s.Classes)
}

// Spread is σ.
func (Gated) Spread() Spread { return spreadOf("gated", "correction") }

// Coarser is one temperature.
func (Gated) Coarser() layers.Map { return Tempered{} }

// LogProbs describes the posterior.
func (Gated) LogProbs(b *graph.Builder, in layers.Batch) *gorgonia.Node {
	support := in.Input(b, supportInput)
	scores := b.Apply(op.TimesScalar(), in.LogProbs, b.Weight("gated/inverse_temperature"))
	global := b.LogSoftmax(scores)
	local := b.LogSoftmax(b.Plus(scores, correction(b, in, "gated")))

	gate := b.AddRow(b.Apply(op.TimesScalar(), support, b.Weight("gated/slope")), b.Weight("gated/level")) // B×1
	z := in.EachClass(b, gate)
	minus := func(x *gorgonia.Node) *gorgonia.Node { return b.Apply(op.Scale(2, -1), x) }
	// log g = −softplus(−z) and log(1 − g) = −softplus(z)
	p := b.Plus(local, minus(b.Apply(op.Softplus(2), minus(z))))
	q := b.Plus(global, minus(b.Apply(op.Softplus(2), z)))
	return b.Plus(q, b.Apply(op.Softplus(2), b.Plus(p, minus(q)))) // log(e^p + e^q)
}

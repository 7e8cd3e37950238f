package layers

import (
	"math"
	"math/rand/v2"

	"calibra/graph"
	"calibra/graph/op"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// AnchoredDirichlet is [Anchored] with a linear map of all classes as its global part:
//
//	posterior = softmax(log p̂ W + b + Σ_i h_i,s(i)) ,  W = t·I + Δ
//	Δ_kk = ρ D_kk ,  Δ_kl = ρ D_kl / √(C−1) ,  b = ρ β ,  D, β ~ N(0, 1)
//
// ρ is how far the prior lets the global map leave temperature scaling. A column
// has C − 1 entries off the diagonal, so their spread falls with C, as in structured
// matrix scaling (Berta et al. 2025), which is the case ρ = 1/√(2C), h = 0. In t, D,
// β and u the loss is convex.
//
// Weights: anchored_dirichlet/inverse_temperature (1), /weight (C×C, D), /bias (C,
// β), /correction ((w·K)×C, u) and the states /global_spread (1, ρ) and /spread (1, σ).
type AnchoredDirichlet struct{}

var _ Hierarchical = AnchoredDirichlet{}

// Init starts at t = 1 and zeros.
func (AnchoredDirichlet) Init(s Sizes, _ *rand.Rand) (*graph.Weights, error) {
	w := graph.NewWeights(tensor.Float64)
	w.Add("anchored_dirichlet/inverse_temperature", []float64{1}, 1)
	w.Add("anchored_dirichlet/weight", make([]float64, s.Classes*s.Classes), s.Classes, s.Classes)
	w.Add("anchored_dirichlet/bias", make([]float64, s.Classes), s.Classes)
	w.AddState("anchored_dirichlet/global_spread", []float64{1}, 1)
	return w, addCorrection(w, "anchored_dirichlet", s, s.Classes)
}

// Spreads are ρ and σ.
func (AnchoredDirichlet) Spreads() []Spread {
	return []Spread{
		{Name: "anchored_dirichlet/global_spread", Of: []string{"anchored_dirichlet/weight", "anchored_dirichlet/bias"}},
		correctionSpread("anchored_dirichlet"),
	}
}

// LogProbs describes the posterior.
func (AnchoredDirichlet) LogProbs(b *graph.Builder, in Batch) *gorgonia.Node {
	return b.LogSoftmax(b.Plus(shrunkLinear(b, in), correction(b, in, "anchored_dirichlet")))
}

// shrunkLinear describes log p̂ W + b.
func shrunkLinear(b *graph.Builder, in Batch) *gorgonia.Node {
	weight := b.Weight("anchored_dirichlet/weight")
	if b.Err() != nil {
		return nil
	}
	c := weight.Shape()[0]
	shape := make([]float64, c*c) // Δ = ρ D ⊙ shape
	for at := range shape {
		shape[at] = 1 / math.Sqrt(float64(c-1))
	}
	for k := range c {
		shape[k*c+k] = 1
	}
	delta := b.Times(weight, b.Table("anchored_dirichlet/shape", graph.Tensor(b.Dtype(), shape, c, c)))
	shift := b.AddRow(b.MatMul(in.LogProbs, delta), b.Weight("anchored_dirichlet/bias"))
	return b.Plus(
		b.Apply(op.Stretch(), in.LogProbs, b.Weight("anchored_dirichlet/inverse_temperature")),
		b.Apply(op.Stretch(), shift, b.Weight("anchored_dirichlet/global_spread")))
}

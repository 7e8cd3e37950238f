package anchored

import (
	"math"
	"math/rand/v2"
	"slices"

	"calibra/graph"
	"calibra/graph/op"
	"calibra/layers"

	"gorgonia.org/gorgonia"
)

// ShrunkDirichlet adds a linear map of all classes to the scores of another global map:
//
//	posterior = softmax(scores + clr(p̂) Δ + b) ,  clr(p̂)_k = log p̂_k − (1/C) Σ_l log p̂_l
//	Δ_kk = ρ D_kk ,  Δ_kl = ρ D_kl / √(C−1) ,  b = ρ β ,  D, β ~ N(0, 1)
//
// ρ is how far the prior lets the map leave On. A column has C − 1 entries off the
// diagonal, so their spread falls with C, as in structured matrix scaling (Berta et
// al. 2025). The loss is convex if On's is; the centred log-ratios (Aitchison
// 1982) leave out their sum, which has no effect.
//
// Weights: those of On, shrunk_dirichlet/weight (C×C, D), /bias (C, β) and the
// state /spread (1, ρ).
type ShrunkDirichlet struct{ On Scored } // nil: Tempered{}

var (
	_ Scored       = ShrunkDirichlet{}
	_ Hierarchical = ShrunkDirichlet{}
)

// Init starts as On does, with zeros.
func (m ShrunkDirichlet) Init(s layers.Sizes, rng *rand.Rand) (*graph.Weights, error) {
	w, err := orTempered(m.On).Init(s, rng)
	if err != nil {
		return nil, err
	}
	w.Add("shrunk_dirichlet/weight", make([]float64, s.Classes*s.Classes), s.Classes, s.Classes)
	w.Add("shrunk_dirichlet/bias", make([]float64, s.Classes), s.Classes)
	w.AddState("shrunk_dirichlet/spread", []float64{1}, 1)
	return w, nil
}

// Spread is ρ.
func (ShrunkDirichlet) Spread() Spread { return spreadOf("shrunk_dirichlet", "weight", "bias") }

// Coarser is On.
func (m ShrunkDirichlet) Coarser() layers.Map { return orTempered(m.On) }

func (m ShrunkDirichlet) LogProbs(b *graph.Builder, in layers.Batch) *gorgonia.Node {
	return b.LogSoftmax(m.Scores(b, in))
}

// Scores describes the scores of On with clr(p̂) Δ + b.
func (m ShrunkDirichlet) Scores(b *graph.Builder, in layers.Batch) *gorgonia.Node {
	weight := b.Weight("shrunk_dirichlet/weight")
	c := b.Dim(weight, 0)
	shape := slices.Repeat([]float64{1 / math.Sqrt(float64(c-1))}, c*c) // Δ = ρ D ⊙ shape
	for k := range c {
		shape[k*c+k] = 1
	}
	delta := b.Times(weight, b.Table("shrunk_dirichlet/shape", graph.Tensor(b.Dtype(), shape, c, c)))
	mean := b.Apply(op.Scale(1, -1/float64(c)), b.Apply(op.SumRows(), delta))
	centred := b.AddRow(delta, mean) // clr(p̂) Δ is log p̂ times Δ less the mean of its rows
	shift := b.AddRow(b.MatMul(in.LogProbs, centred), b.Weight("shrunk_dirichlet/bias"))
	return b.Plus(orTempered(m.On).Scores(b, in), b.Apply(op.TimesScalar(), shift, b.Weight("shrunk_dirichlet/spread")))
}

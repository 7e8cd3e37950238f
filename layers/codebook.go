package layers

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/op"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Codebook is K codewords of width d that follow the slots assigned to them by an
// exponential moving average (van den Oord et al. 2017, appendix A.1):
//
//	m_k ← γ m_k + (1−γ) |{slots of the batch nearest to c_k}|
//	T_k ← γ T_k + (1−γ) Σ of those slots
//	c_k = T_k / (m_k + ε)
//
// Slots are assigned before the update. The averages are state: codebook/codewords
// and codebook/sums (K×d), codebook/counts (K).
type Codebook struct {
	Codewords int      // K; 0: 64
	Decay     float64  // γ; 0: 0.99
	Start     EMAStart // nil: WarmStart{}

	words
}

var _ Codes = Codebook{}

// emaEpsilon is ε, which keeps the codeword of an empty count finite.
const emaEpsilon = 1e-8

// EMAStart is the start of the averages, such as [WarmStart] or [ZeroStart].
type EMAStart interface {
	// Count is the initial m_k; the initial T_k is m_k c_k.
	Count() float64
}

// WarmStart starts the averages at the initial codebook, m = 1 and T = c, so no
// codeword is flung to the origin before a slot has found it.
type WarmStart struct{}

// Count is 1.
func (WarmStart) Count() float64 { return 1 }

// ZeroStart starts the averages at zero, as published: a codeword that no slot of
// the first batch is assigned to becomes the origin.
type ZeroStart struct{}

// Count is 0.
func (ZeroStart) Count() float64 { return 0 }

func (c Codebook) withDefaults() Codebook {
	c.Codewords, c.Decay, c.Start = cmp.Or(c.Codewords, 64), cmp.Or(c.Decay, 0.99), cmp.Or[EMAStart](c.Start, WarmStart{})
	return c
}

// Over is the sizes of cal's features in w slots (0: 64) with K codewords that all share.
func (c Codebook) Over(cal *data.Set, slots int) (Sizes, error) {
	return sizesOver(cal, slots, c.withDefaults().Codewords)
}

// Init draws K slots as the initial codewords.
func (c Codebook) Init(w *graph.Weights, cal *data.Set, s Sizes, rng *rand.Rand) error {
	c.withDefaults().add(w, drawWords(cal, s, rng).RawMatrix().Data, s.Features/s.Slots)
	return nil
}

// Twin is as many codewords that never move.
func (c Codebook) Twin() Codes { return Fixed{Codewords: c.Codewords} }

// State is the codewords with their counts and sums.
func (Codebook) State(s Sizes) map[string]tensor.Shape {
	shapes := words{}.State(s)
	shapes["codebook/counts"], shapes["codebook/sums"] = tensor.Shape{s.Codewords}, shapes["codebook/codewords"]
	return shapes
}

// add appends the codebook's state for given codewords (K×d, row by row).
func (c Codebook) add(w *graph.Weights, codewords []float64, d int) {
	counts, sums := slices.Repeat([]float64{c.Start.Count()}, c.Codewords), make([]float64, len(codewords))
	floats.ScaleTo(sums, c.Start.Count(), codewords)
	w.AddState("codebook/codewords", codewords, c.Codewords, d)
	w.AddState("codebook/counts", counts, c.Codewords)
	w.AddState("codebook/sums", sums, c.Codewords, d)
}

// Update describes the moving averages after a batch of features with its codes.
func (c Codebook) Update(b *graph.Builder, z *gorgonia.Node, a Assignment, s Sizes) {
	c = c.withDefaults()
	m, t := b.Weight("codebook/counts"), b.Weight("codebook/sums")
	seen := b.Apply(op.Count(), a.Codes, m)
	if a.Weights != nil && b.Err() == nil { // a row is seen as often as its weight
		each := func(of string, columns int) *gorgonia.Node {
			return b.MatMul(a.Weights, b.Table("codebook/each_"+of, ones(b.Dtype(), 1, columns)))
		}
		seen = b.Apply(op.Reshape(2, -1), b.Apply(op.ScatterAdd(s.Codewords), a.Codes, each("slot", a.Codes.Shape()[1])))
		z = b.Times(z, each("feature", z.Shape()[1]))
	}
	counts := b.Apply(op.Blend(1, c.Decay), m, seen)
	sums := b.Apply(op.Blend(2, c.Decay), t, b.Apply(op.ScatterAdd(s.Codewords), a.Codes, z))
	b.Update("codebook/counts", counts)
	b.Update("codebook/sums", sums)
	b.Update("codebook/codewords", b.Apply(op.Normalize(emaEpsilon), sums, counts))
}

// Perplexity is how many codewords are used, exp H(n/Σn) of how often each is.
func Perplexity(n []float64) float64 {
	total := floats.Sum(n)
	return math.Exp(stat.Entropy(data.Each(n, func(v float64) float64 { return v / total })))
}

package layers

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/op"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
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
}

// emaEpsilon is ε, which keeps the codeword of an empty count finite.
const emaEpsilon = 1e-8

// EMAStart is what the averages start from, such as [WarmStart] or [ZeroStart].
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
	c.Codewords = cmp.Or(c.Codewords, 64)
	c.Decay = cmp.Or(c.Decay, 0.99)
	if c.Start == nil {
		c.Start = WarmStart{}
	}
	return c
}

// Over is the codebook, its defaults set, that cal's features can be divided by into w
// slots (0: 64), and the sizes of the problem. Slots that do not divide M, an empty
// codebook, fewer rows than codewords, a single class and features that are out of reach
// (see [Codebook.Reach]) are a [*SettingError].
func (c Codebook) Over(cal *data.Set, slots int) (Codebook, Sizes, error) {
	c = c.withDefaults()
	slots = cmp.Or(slots, 64)
	if cal.Features == nil || cal.Labels == nil {
		return c, Sizes{}, errors.New("layers: dividing the latent space needs features and labels of the calibration rows")
	}
	n, m := cal.Features.Dims()
	switch {
	case slots < 1 || m%slots != 0:
		return c, Sizes{}, &SettingError{fmt.Sprintf("%d slots do not divide %d features; choose a divisor of %d", slots, m, m)}
	case c.Codewords < 1:
		return c, Sizes{}, &SettingError{fmt.Sprintf("a codebook of %d codewords is empty; choose at least 1", c.Codewords)}
	case n < c.Codewords:
		return c, Sizes{}, &SettingError{fmt.Sprintf("%d calibration rows are fewer than %d codewords; choose fewer codewords or bring more rows", n, c.Codewords)}
	}
	counts := classCounts(cal)
	if len(counts) < 2 {
		return c, Sizes{}, &SettingError{"calibration needs at least two classes"}
	}
	sizes := Sizes{Classes: len(counts), Features: m, Slots: slots, Codewords: c.Codewords, Counts: counts}
	most := largest(cal.Features)
	return c, sizes, reach(most, most, sizes)
}

// Reach returns a [*SettingError] if features x (N×M) are so large that single precision, in
// which their slots are compared with the codewords among w, cannot hold the products.
func (Codebook) Reach(x mat.Matrix, w *graph.Weights, s Sizes) error {
	word := 0.0
	for _, v := range w.Tensor("codebook/codewords").Float32s() {
		word = max(word, math.Abs(float64(v)))
	}
	return reach(largest(x), word, s)
}

// reach bounds what the comparison computes of slots and codewords of width d, whose largest
// entries are z and c: |z·c_k| + |c_k|² ≤ d z c + d c². Codewords are means of slots, so those
// of a fit are no larger than its features.
func reach(z, c float64, s Sizes) error {
	d := float64(s.Features / s.Slots)
	if max(z, d*z*c+d*c*c) <= math.MaxFloat32 {
		return nil
	}
	return &SettingError{fmt.Sprintf("features as large as %.0e are too large for single precision, in which slots are compared with codewords; scale the features down, those of the fit and of all other rows alike", z)}
}

// largest is the largest magnitude among the numbers of x.
func largest(x mat.Matrix) float64 {
	n, m := x.Dims()
	most, buffer := 0.0, make([]float64, m)
	for i := range n {
		for _, v := range data.Row(x, i, buffer) {
			if v = math.Abs(v); v > most {
				most = v
			}
		}
	}
	return most
}

// seedRows is how many rows the initial codewords are drawn from, 50 batches of
// 128 as published.
const seedRows = 50 * 128

// Init draws K slots of up to seedRows rows of x (N×M), without replacement, as
// the initial codewords of width d.
func (c Codebook) Init(w *graph.Weights, x mat.Matrix, d int, rng *rand.Rand) {
	n, m := x.Dims()
	rows := rng.Perm(n)[:min(n, seedRows)]
	slots := m / d
	codewords, buffer := make([]float64, 0, c.Codewords*d), make([]float64, m)
	for _, at := range rng.Perm(len(rows) * slots)[:c.Codewords] {
		i := at % slots
		codewords = append(codewords, data.Row(x, rows[at/slots], buffer)[i*d:(i+1)*d]...)
	}
	c.add(w, codewords, d)
}

// add appends the codebook's state for given codewords (K×d, row by row).
func (c Codebook) add(w *graph.Weights, codewords []float64, d int) {
	counts, sums := make([]float64, c.Codewords), make([]float64, len(codewords))
	for k := range counts {
		counts[k] = c.Start.Count()
	}
	for i, v := range codewords {
		sums[i] = c.Start.Count() * v
	}
	w.AddState("codebook/codewords", codewords, c.Codewords, d)
	w.AddState("codebook/counts", counts, c.Codewords)
	w.AddState("codebook/sums", sums, c.Codewords, d)
}

// Assign describes the codes (B×w) of features z (B×M).
func (Codebook) Assign(b *graph.Builder, z *gorgonia.Node) *gorgonia.Node {
	return b.Apply(op.Nearest(), z, b.Weight("codebook/codewords"))
}

// Quantize describes q = [c_s(1), …, c_s(w)] (B×M) of codes.
func (Codebook) Quantize(b *graph.Builder, codes *gorgonia.Node) *gorgonia.Node {
	return b.Apply(op.Gather(), b.Weight("codebook/codewords"), codes)
}

// Update describes the moving averages after a batch of features with its codes.
func (c Codebook) Update(b *graph.Builder, z, codes *gorgonia.Node) {
	c = c.withDefaults()
	m, t := b.Weight("codebook/counts"), b.Weight("codebook/sums")
	counts := b.Apply(op.Blend(1, c.Decay), m, b.Apply(op.Count(), codes, m))
	sums := b.Apply(op.Blend(2, c.Decay), t, b.Apply(op.ScatterAdd(c.Codewords), codes, z))
	b.Update("codebook/counts", counts)
	b.Update("codebook/sums", sums)
	b.Update("codebook/codewords", b.Apply(op.Normalize(emaEpsilon), sums, counts))
}

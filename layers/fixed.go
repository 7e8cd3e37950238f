package layers

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"calibra/data"
	"calibra/graph"

	"gonum.org/v1/gonum/mat"
)

// Fixed is K codewords of all slots that are drawn among the slots and never move. It is the random
// twin of codes that learn.
type Fixed struct {
	Codewords int // K; 0: 64

	words
}

var _ Codes = Fixed{}

// Over is the sizes of cal's features in w slots (0: 64).
func (c Fixed) Over(cal *data.Set, slots int) (Sizes, error) {
	return sizesOver(cal, slots, cmp.Or(c.Codewords, 64))
}

// Init draws the codewords among the slots of cal.
func (Fixed) Init(w *graph.Weights, cal *data.Set, s Sizes, rng *rand.Rand) error {
	addWords(w, drawWords(cal, s, rng))
	return nil
}

func (c Fixed) Twin() Codes { return c }

// addWords adds codebook/codewords (K×d).
func addWords(w *graph.Weights, codewords *mat.Dense) {
	k, d := codewords.Dims()
	w.AddState("codebook/codewords", codewords.RawMatrix().Data, k, d)
}

// drawWords are K slots of cal as they are (K×d), drawn by the weights of their rows: of many that are drawn
// alike, those with the least −log(u)/w, u uniform (Efraimidis and Spirakis 2006).
func drawWords(cal *data.Set, s Sizes, rng *rand.Rand) *mat.Dense {
	slots, weights := drawSlots(cal, s.Slots, s.Codewords, rng)
	if weights == nil {
		return slots
	}
	slots, weights = drawSlots(cal, s.Slots, max(s.Codewords, manySlots), rng)
	order, keys := data.UpTo(len(weights)), data.Each(weights, func(w float64) float64 { return rng.ExpFloat64() / w })
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(keys[i], keys[j]) })
	return data.RowsOf(slots, order[:min(s.Codewords, len(order))])
}

const (
	seedRows  = 50 * 128 // rows that codewords are drawn from, 50 batches of 128 as published
	manySlots = 20000    // slots that codewords are placed by
)

// drawSlots draws k of the w slots of up to seedRows rows of cal, without replacement, or all of
// them where they are fewer (k×d), with the weights of their rows (k; nil: 1 each).
func drawSlots(cal *data.Set, w, k int, rng *rand.Rand) (slots *mat.Dense, weights []float64) {
	n, m := cal.Features.Dims()
	d := m / w
	rows := rng.Perm(n)[:min(n, max(seedRows, k/w))]
	k = min(k, len(rows)*w)
	slots, buffer := mat.NewDense(k, d, nil), make([]float64, m)
	for to, at := range rng.Perm(len(rows) * w)[:k] {
		row, i := rows[at/w], at%w
		slots.SetRow(to, data.Row(cal.Features, row, buffer)[i*d:(i+1)*d])
		if cal.Weights != nil {
			weights = append(weights, cal.Weights[row])
		}
	}
	return slots, weights
}

package layers

import (
	"cmp"
	"context"
	"math/rand/v2"

	"calibra/data"
	"calibra/graph"

	"gonum.org/v1/gonum/mat"
)

// Fixed is K codewords of all slots that are placed once and never move.
type Fixed struct {
	Codewords int       // K; 0: 64
	Place     Placement // nil: Draw{}

	words
}

var _ Codes = Fixed{}

// Over is the sizes of cal's features in w slots (0: 64).
func (c Fixed) Over(cal *data.Set, slots int) (Sizes, error) {
	return sizesOver(cal, slots, cmp.Or(c.Codewords, 64))
}

// Init places the codewords among the slots of cal.
func (c Fixed) Init(_ context.Context, w *graph.Weights, cal *data.Set, s Sizes, rng *rand.Rand) error {
	addWords(w, placed(c.Place, slotsOf(cal.Features, cal.Weights, s.Slots, rng), s.Codewords, rng), nil)
	return nil
}

// Twin draws the codewords.
func (c Fixed) Twin() Codes { return Fixed{Codewords: c.Codewords} }

// Product gives each of the w slots K codewords of its own (product quantization, Jégou et al.
// 2011), so that there are w·K in all. They never move.
type Product struct {
	Codewords int       // K; 0: 64
	Place     Placement // nil: KMeans{}

	words
}

var _ Codes = Product{}

// Over is the sizes of cal's features in w slots (0: 64).
func (c Product) Over(cal *data.Set, slots int) (Sizes, error) {
	s, err := sizesOver(cal, slots, cmp.Or(c.Codewords, 64))
	s.Codewords *= s.Slots
	s.Apart = true
	return s, err
}

// Init places the codewords of each slot among the values that it has in cal.
func (c Product) Init(_ context.Context, w *graph.Weights, cal *data.Set, s Sizes, rng *rand.Rand) error {
	d := s.Features / s.Slots
	var all []*mat.Dense
	for i := range s.Slots {
		draw := slotsOf(columns{cal.Features, i * d, d}, cal.Weights, 1, rng)
		all = append(all, placed(cmp.Or[Placement](c.Place, KMeans{}), draw, s.perBook(), rng))
	}
	addWords(w, all[0], all[1:])
	return nil
}

// Twin draws the codewords of each slot.
func (c Product) Twin() Codes { return Product{Codewords: c.Codewords, Place: Draw{}} }

// Residual codes a slot in stages (residual vector quantization, Juang and Gray 1982): the
// codewords of each stage are placed among what those before it leave of the slots. There are
// Stages·K in all, and a slot has Stages of them, whose sum stands for it. They never move.
type Residual struct {
	Codewords int       // K of each stage; 0: 64
	Stages    int       // 0: 2
	Place     Placement // nil: KMeans{}

	words
}

var _ Codes = Residual{}

// Over is the sizes of cal's features in w slots (0: 64).
func (c Residual) Over(cal *data.Set, slots int) (Sizes, error) {
	s, err := sizesOver(cal, slots, cmp.Or(c.Codewords, 64))
	s.Stages = cmp.Or(c.Stages, 2)
	s.Codewords *= s.Stages
	return s, err
}

// Init places one stage after the other.
func (c Residual) Init(_ context.Context, w *graph.Weights, cal *data.Set, s Sizes, rng *rand.Rand) error {
	var all []*mat.Dense
	for range s.Stages {
		draw := func(n int) (*mat.Dense, []float64) {
			slots, weights := drawSlots(cal.Features, cal.Weights, s.Slots, n, rng)
			for _, stage := range all {
				left(slots, stage)
			}
			return slots, weights
		}
		all = append(all, placed(cmp.Or[Placement](c.Place, KMeans{}), draw, s.perBook(), rng))
	}
	addWords(w, all[0], all[1:])
	return nil
}

// Twin draws the codewords of each stage.
func (c Residual) Twin() Codes {
	return Residual{Codewords: c.Codewords, Stages: c.Stages, Place: Draw{}}
}

// addWords adds codebook/codewords, more of them behind the first.
func addWords(w *graph.Weights, first *mat.Dense, more []*mat.Dense) {
	values := first.RawMatrix().Data
	for _, x := range more {
		values = append(values, x.RawMatrix().Data...)
	}
	_, d := first.Dims()
	w.AddState("codebook/codewords", values, len(values)/d, d)
}

// columns are n columns of x from the first on.
type columns struct {
	x        mat.Matrix
	first, n int
}

func (c columns) Dims() (rows, cols int) {
	rows, _ = c.x.Dims()
	return rows, c.n
}
func (c columns) At(i, j int) float64 { return c.x.At(i, c.first+j) }
func (c columns) T() mat.Matrix       { return mat.Transpose{Matrix: c} }

package main

import (
	"math"
	"math/rand/v2"

	"calibra/data"
	"calibra/graph"
	"calibra/layers"

	"gonum.org/v1/gonum/floats"
)

// Farthest are codes each of whose codewords is the slot farthest from those before it (Gonzalez 1985); the first is
// drawn. They never move; all but their start is that of layers.Fixed.
type Farthest struct{ layers.Fixed }

var _ layers.Codes = Farthest{}

// Init places the codewords among the slots of up to 1,000 rows.
func (c Farthest) Init(w *graph.Weights, cal *data.Set, s layers.Sizes, rng *rand.Rand) error {
	if err := c.Fixed.Init(w, cal, s, rng); err != nil {
		return err
	}
	d := s.Features / s.Slots
	var slots [][]float64
	for _, row := range rng.Perm(cal.Len())[:min(cal.Len(), 1000)] {
		z := data.Row(cal.Features, row, make([]float64, s.Features))
		for at := 0; at < len(z); at += d {
			slots = append(slots, z[at:at+d])
		}
	}
	codewords, apart := w.Float64s("codebook/codewords"), make([]float64, len(slots))
	floats.AddConst(math.Inf(1), apart)
	for k := 1; k < s.Codewords; k++ {
		for i, z := range slots {
			apart[i] = min(apart[i], floats.Distance(z, codewords[(k-1)*d:k*d], 2))
		}
		copy(codewords[k*d:], slots[floats.MaxIdx(apart)])
	}
	w.SetValues("codebook/codewords", codewords)
	return nil
}

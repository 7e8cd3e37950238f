package theory

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"
)

// TestReadingsAreOfSlots: cells are read as slots are, drawn one at a time; nothing is lost; and the derivative of
// a reading at ε = 0 is w (once − 1).
func TestReadingsAreOfSlots(t *testing.T) {
	d := Design{Classes: 3, Slots: 3, Codewords: 4, Atoms: 2}
	table := d.Table(d.Multisets(), newRand(1))
	for name, by := range map[string]Channel{"any": ToAny, "neighbour": ToNeighbour} {
		const epsilon, draws, h = 0.3, 20_000, 1e-6
		read, once, little := table.Misread(by, epsilon), table.MisreadOnce(by), table.Misread(by, h)
		rng := newRand(2)
		for u, cell := range table.Cells {
			for _, r := range []Reading{read, once, little} {
				if sum := floats.Sum(r.RawRowView(u)); !scalar.EqualWithinAbs(sum, 1, 1e-12) { // a sum of 64 terms
					t.Fatalf("%s: what cell %v is read as has probability %g", name, cell.Codes, sum)
				}
			}
			counts := make([]float64, len(table.Cells))
			for range draws {
				codes := slices.Sorted(slices.Values(misreadCodes(cell.Codes, by, epsilon, d.Codewords, rng)))
				counts[slices.IndexFunc(table.Cells, func(c Cell) bool { return slices.Equal(c.Codes, codes) })]++
			}
			for v, count := range counts {
				p := read.At(u, v)
				// Five standard deviations and one row: 400 counts of two channels stay within but in 1 of 1000 runs.
				if far := math.Abs(count - draws*p); far > 1+5*math.Sqrt(draws*p*(1-p)) {
					t.Errorf("%s: %v is read as %v in %g of %d rows, not %g", name, cell.Codes, table.Cells[v].Codes, count, draws, draws*p)
				}
			}
		}
		var slope mat.Dense
		slope.Sub(little, identityOf(len(table.Cells)))
		slope.Scale(1/h, &slope)
		want := mat.DenseCopyOf(once)
		want.Sub(want, identityOf(len(table.Cells)))
		want.Scale(float64(d.Slots), want)
		if !mat.EqualApprox(&slope, want, 1e-4) { // the second order is 3h, rounding 1e-16/h
			t.Errorf("%s: the derivative of a reading is not w (once − 1)", name)
		}
	}
}

// misreadCodes reads a row's slots one by one.
func misreadCodes(codes []int, by Channel, epsilon float64, K int, rng *rand.Rand) []int {
	seen := slices.Clone(codes)
	for i, k := range codes {
		if rng.Float64() >= epsilon {
			continue
		}
		u := rng.Float64()
		for l := range K {
			if u -= by(k, l, K); u < 0 {
				seen[i] = l
				break
			}
		}
	}
	return seen
}

func identityOf(n int) *mat.Dense {
	one := mat.NewDense(n, n, nil)
	for i := range n {
		one.Set(i, i, 1)
	}
	return one
}

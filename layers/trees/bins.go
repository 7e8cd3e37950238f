package trees

import (
	"math"
	"slices"
	"sort"

	"calibra/data"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// Bins are columns cut at quantiles of their values.
type Bins struct {
	rows  int
	edges [][]float64 // of each column, ascending: splits are at edges
	codes [][]uint8   // of each column, N: how many edges lie below the value
}

// mostBins is how many a column has at most; its splits are one fewer.
const mostBins = 32

// NewBins cuts the columns of x (N×M), whose rows have weights (nil: 1 each), midway between two values. Values of a
// column that lie no farther apart than its width there are one, and a column of one value has no split. A nil width
// tells all values apart.
func NewBins(x mat.Matrix, width func(column int, v float64) float64, weights []float64) *Bins {
	n, m := x.Dims()
	b := &Bins{rows: n, edges: make([][]float64, m), codes: make([][]uint8, m)}
	column := make([]float64, n)
	for j := range m {
		data.Column(column, j, x)
		sorted, at := cuts(column, weights)
		for _, at := range at {
			if at == 0 {
				continue
			}
			last := sorted[at-1]
			if width != nil {
				last += width(j, last)
			}
			next := sort.Search(n, func(i int) bool { return sorted[i] > last })
			if next == n {
				continue
			}
			if edge := between(sorted[next-1], sorted[next]); len(b.edges[j]) == 0 || edge > b.edges[j][len(b.edges[j])-1] {
				b.edges[j] = append(b.edges[j], edge)
			}
		}
		b.codes[j] = make([]uint8, n)
		for i, v := range column {
			b.codes[j][i] = uint8(sort.SearchFloat64s(b.edges[j], v)) // edges below v
		}
	}
	return b
}

// between is a number from a on and below b, midway where single precision has one there, in which features and edges
// are compared on devices.
func between(a, b float64) float64 {
	middle := float64(float32(max(a, -math.MaxFloat32)/2 + min(b, math.MaxFloat32)/2))
	if middle < a || middle >= b {
		return a
	}
	return middle
}

// cuts are the values in ascending order, and how many of them lie in the first k of [mostBins] bins of equal weight.
func cuts(values, weights []float64) (sorted []float64, at [mostBins - 1]int) {
	n := len(values)
	sorted = slices.Clone(values)
	if weights == nil {
		slices.Sort(sorted)
		for k := range at {
			at[k] = (k + 1) * n / mostBins
		}
		return sorted, at
	}
	above := slices.Clone(weights) // of each value that of all up to it
	stat.SortWeighted(sorted, above)
	floats.CumSum(above, above)
	for k := range at {
		most := float64(k+1) / mostBins * above[n-1] * (1 + 1e-12) // but for rounding
		at[k] = sort.Search(n, func(i int) bool { return above[i] > most })
	}
	return sorted, at
}

package trees

import (
	"math"
	"slices"
	"sort"

	"calibra/data"

	"gonum.org/v1/gonum/mat"
)

// Bins are columns cut at quantiles of their values.
type Bins struct {
	rows  int
	edges [][]float64 // of each column, ascending: splits are at edges
	codes [][]uint8   // of each column, N: how many edges lie below the value
}

// mostBins is how many a column has at most; its splits are one fewer.
const mostBins = 32

// NewBins cuts the columns of x (N×M), midway between two values. Values of a column that lie no farther apart than its
// width there are one, and a column of one value has no split. A nil width tells all values apart.
func NewBins(x mat.Matrix, width func(column int, v float64) float64) *Bins {
	n, m := x.Dims()
	b := &Bins{rows: n, edges: make([][]float64, m), codes: make([][]uint8, m)}
	column := make([]float64, n)
	for j := range m {
		data.Column(column, j, x)
		sorted := slices.Clone(column)
		slices.Sort(sorted)
		for k := 1; k < mostBins; k++ {
			at := k * n / mostBins
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

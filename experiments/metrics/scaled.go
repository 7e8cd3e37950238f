package metrics

import (
	"fmt"
	"math"

	"calibra/experiments/internal/checked"

	"gonum.org/v1/gonum/mat"
)

// Spent is an embedding (N×d) in single precision that nobody needs any more: [Evaluate],
// [MeasureWith] and [Measure] work in its memory, where they keep a copy of any other, and
// leave other numbers there.
type Spent struct {
	values []float32
	dim    int
}

// NewSpent is the embedding of values, row by row. It panics unless they make rows of the
// given width.
func NewSpent(values []float32, dim int) *Spent {
	if dim <= 0 || len(values) == 0 || len(values)%dim != 0 {
		panic(fmt.Sprintf("metrics: %d values make no rows of %d", len(values), dim))
	}
	return &Spent{values, dim}
}

func (s *Spent) Dims() (n, d int) { return len(s.values) / s.dim, s.dim }

// At is the number at row i, column j.
func (s *Spent) At(i, j int) float64 { return float64(s.row(i)[j]) }

func (s *Spent) T() mat.Matrix { return mat.Transpose{Matrix: s} }

// Row writes row i to dst.
func (s *Spent) Row(dst []float64, i int) {
	for k, v := range s.row(i) {
		dst[k] = float64(v)
	}
}

func (s *Spent) row(i int) []float32 { return s.values[i*s.dim : (i+1)*s.dim] }

// scaled is an embedding in units of the bandwidth, centred: only differences
// matter, and a far origin would cost float32 digits.
type scaled struct {
	dim   int
	write func(dst []float32, i int) // writes row i to dst, of dim numbers
	own   *arranged                  // the rows themselves, where their memory may be worked in
}

func newScaled(z mat.Matrix, bandwidth float64) (*scaled, error) {
	rows, dim := z.Dims()
	centre, buffer := make([]float64, dim), make([]float64, dim)
	for i := range rows {
		for k, x := range checked.RowOf(z, i, buffer) {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return nil, fmt.Errorf("metrics: row %d: dimension %d of the embedding is %v: an embedding must be finite", i, k, x)
			}
			centre[k] += x / float64(rows)
		}
	}
	write := func(dst []float32, i int) {
		for k, x := range checked.RowOf(z, i, buffer) {
			dst[k] = float32((x - centre[k]) / bandwidth)
		}
	}
	if s, ok := z.(*Spent); ok {
		for i := range rows {
			write(s.row(i), i)
		}
		return &scaled{dim, func(dst []float32, i int) { copy(dst, s.row(i)) }, &arranged{values: s.values, dim: dim}}, nil
	}
	return &scaled{dim, write, nil}, nil
}

// positions are the rows of order, one after the other. Those of all rows are valid until it is
// asked for another order.
func (z *scaled) positions(order []int) []float32 {
	if z.own != nil && len(order)*z.dim == len(z.own.values) {
		z.own.arrange(order)
		return z.own.values
	}
	out := make([]float32, len(order)*z.dim)
	for j, i := range order {
		z.write(out[j*z.dim:(j+1)*z.dim], i)
	}
	return out
}

// arranged are rows that are put into order where they are.
type arranged struct {
	values []float32
	dim    int
	at     []int32 // the row that is at each place; nil: as at first
}

// arrange puts row order[j] to place j, one cycle of the permutation after the other.
func (a *arranged) arrange(order []int) {
	from := make([]int32, len(order)) // where the row that belongs to a place is
	for place := range from {
		row := place
		if a.at != nil {
			row = int(a.at[place])
		}
		from[row] = int32(place)
	}
	at := make([]int32, len(order))
	for j, i := range order {
		at[j] = int32(i)
	}
	source := make([]int32, len(order))
	for j, i := range order {
		source[j] = from[i]
	}
	row := func(j int) []float32 { return a.values[j*a.dim : (j+1)*a.dim] }
	first := make([]float32, a.dim)
	for j := range source {
		if int(source[j]) == j {
			continue
		}
		copy(first, row(j))
		to := j
		for {
			next := int(source[to])
			source[to] = int32(to)
			if next == j {
				copy(row(to), first)
				break
			}
			copy(row(to), row(next))
			to = next
		}
	}
	a.at = at
}

package data

import (
	"fmt"

	"gonum.org/v1/gonum/mat"
)

// Singles are features as most files hold them, N×M numbers of single precision, which
// stay so from the file to the kernels. Its parts ([Select]) are row numbers over one
// memory, so that a split, a fold or a fraction of 10⁶ rows copies none of them. Nobody
// changes the values.
type Singles struct {
	values []float32 // row by row, of all rows that the memory has
	cols   int       // M
	index  []int32   // the N of them that are here, in order; nil: all
}

var _ Rows = (*Singles)(nil)

// Rows is a matrix that can write a row of it in double precision, such as [Singles].
type Rows interface {
	mat.Matrix
	// Row writes row i to dst, of M numbers.
	Row(dst []float64, i int)
}

// NewSingles is the matrix of values, row by row, which it keeps. It panics unless they
// make rows of the given width.
func NewSingles(values []float32, cols int) *Singles {
	if cols <= 0 || len(values)%cols != 0 || len(values) == 0 {
		panic(fmt.Sprintf("data: %d values make no rows of %d", len(values), cols))
	}
	return &Singles{values: values, cols: cols}
}

func (s *Singles) Dims() (n, m int) {
	if s.index != nil {
		return len(s.index), s.cols
	}
	return len(s.values) / s.cols, s.cols
}

// At is the number at row i, column j.
func (s *Singles) At(i, j int) float64 {
	if uint(j) >= uint(s.cols) {
		panic(mat.ErrColAccess)
	}
	return float64(s.Single(i)[j])
}

func (s *Singles) T() mat.Matrix { return mat.Transpose{Matrix: s} }

// Single is row i, M numbers of the memory itself.
func (s *Singles) Single(i int) []float32 {
	if s.index != nil {
		i = int(s.index[i])
	}
	return s.values[i*s.cols : (i+1)*s.cols]
}

// Row writes row i to dst.
func (s *Singles) Row(dst []float64, i int) {
	for j, v := range s.Single(i) {
		dst[j] = float64(v)
	}
}

// Row is row i of x in double precision: the row itself of a *mat.Dense, and otherwise
// buffer, which has room for M numbers. Nobody changes it.
func Row(x mat.Matrix, i int, buffer []float64) []float64 {
	switch x := x.(type) {
	case mat.RawRowViewer:
		return x.RawRowView(i)
	case Rows:
		x.Row(buffer, i)
		return buffer
	}
	return mat.Row(buffer, i, x)
}

// Select is the rows of x at the given indices, in that order; nil if x is nil or there
// are none. Of Singles the values are shared, of others copied.
func Select(x mat.Matrix, index []int) mat.Matrix {
	if x == nil || len(index) == 0 {
		return nil
	}
	s, ok := x.(*Singles)
	if !ok {
		return RowsOf(Dense(x), index)
	}
	part := &Singles{values: s.values, cols: s.cols, index: make([]int32, len(index))}
	for i, r := range index {
		if s.index != nil {
			r = int(s.index[r])
		}
		part.index[i] = int32(r)
	}
	return part
}

// Dense is x in double precision: x itself if it is a *mat.Dense, else a copy, and nil if
// there is none.
func Dense(x mat.Matrix) *mat.Dense {
	if x == nil {
		return nil
	}
	if d, ok := x.(*mat.Dense); ok {
		return d
	}
	n, m := x.Dims()
	out := mat.NewDense(n, m, nil)
	for i := range n {
		if row := out.RawRowView(i); len(row) > 0 {
			copy(row, Row(x, i, row))
		}
	}
	return out
}

// blocks calls do for the rows of x in order, so many at a time: z is those rows, in
// double precision and made by prepare of each, in memory that the next call uses again.
func blocks(x mat.Matrix, rows int, prepare func(row []float64), do func(lo int, z *mat.Dense)) {
	n, m := x.Dims()
	buffer := make([]float64, min(rows, n)*m)
	for lo := 0; lo < n; lo += rows {
		z := mat.NewDense(min(rows, n-lo), m, buffer[:min(rows, n-lo)*m])
		for i := range min(rows, n-lo) {
			row := z.RawRowView(i)
			copy(row, Row(x, lo+i, row))
			prepare(row)
		}
		do(lo, z)
	}
}

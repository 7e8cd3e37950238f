package metrics

import "gonum.org/v1/gonum/mat"

// rowReader is a matrix that writes a row of it in double precision, such as a float32 one.
type rowReader interface{ Row(dst []float64, i int) }

// rowOf is row i of x: the row itself of a *mat.Dense, and otherwise buffer, which has room for
// it. Nobody changes it.
func rowOf(x mat.Matrix, i int, buffer []float64) []float64 {
	switch x := x.(type) {
	case mat.RawRowViewer:
		return x.RawRowView(i)
	case rowReader:
		x.Row(buffer, i)
		return buffer
	}
	return mat.Row(buffer, i, x)
}

// given reports whether there is a matrix at all.
func given(x mat.Matrix) bool {
	d, dense := x.(*mat.Dense)
	return x != nil && !(dense && d == nil)
}

// excerpt is some rows of a matrix, none of them copied.
type excerpt struct {
	of    mat.Matrix
	index []int
}

// partOf is the rows of x in that order; nil of nil.
func partOf(x mat.Matrix, rows []int) mat.Matrix {
	if !given(x) {
		return nil
	}
	if p, is := x.(excerpt); is {
		return excerpt{p.of, pick(p.index, rows)}
	}
	return excerpt{x, rows}
}

// Dims is N and d.
func (p excerpt) Dims() (n, d int) {
	_, d = p.of.Dims()
	return len(p.index), d
}

// At is the number at row i, column j.
func (p excerpt) At(i, j int) float64 { return p.of.At(p.index[i], j) }

// T is the transpose.
func (p excerpt) T() mat.Matrix { return mat.Transpose{Matrix: p} }

// Row writes row i to dst.
func (p excerpt) Row(dst []float64, i int) { copy(dst, rowOf(p.of, p.index[i], dst)) }

// rowsOf is a copy of the rows of x in that order; nil of nil and of no rows.
func rowsOf(x mat.Matrix, rows []int) *mat.Dense {
	if !given(x) || len(rows) == 0 {
		return nil
	}
	_, d := x.Dims()
	out := mat.NewDense(len(rows), d, nil)
	for k, i := range rows {
		row := out.RawRowView(k)
		copy(row, rowOf(x, i, row))
	}
	return out
}

// moments are those of momentsOf, of a matrix.
func moments(x mat.Matrix) (mean, sd []float64) {
	n, d := x.Dims()
	buffer := make([]float64, d)
	return momentsOf(n, d, func(i int) []float64 { return rowOf(x, i, buffer) })
}

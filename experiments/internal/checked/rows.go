package checked

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// rowReader is a matrix that writes a row of it in double precision, such as a float32 one.
type rowReader interface{ Row(dst []float64, i int) }

// RowOf is row i of x: the row itself of a *mat.Dense, and otherwise buffer, which has room for
// it. Nobody changes it.
func RowOf(x mat.Matrix, i int, buffer []float64) []float64 {
	switch x := x.(type) {
	case mat.RawRowViewer:
		return x.RawRowView(i)
	case rowReader:
		x.Row(buffer, i)
		return buffer
	}
	return mat.Row(buffer, i, x)
}

// Given reports whether there is a matrix at all.
func Given(x mat.Matrix) bool {
	d, dense := x.(*mat.Dense)
	return x != nil && !(dense && d == nil)
}

// excerpt is some rows of a matrix, none of them copied.
type excerpt struct {
	of    mat.Matrix
	index []int
}

// PartOf is the rows of x in that order; nil of nil.
func PartOf(x mat.Matrix, rows []int) mat.Matrix {
	if !Given(x) {
		return nil
	}
	if p, is := x.(excerpt); is {
		return excerpt{p.of, Pick(p.index, rows)}
	}
	return excerpt{x, rows}
}

func (p excerpt) Dims() (n, d int) {
	_, d = p.of.Dims()
	return len(p.index), d
}

// At is the number at row i, column j.
func (p excerpt) At(i, j int) float64 { return p.of.At(p.index[i], j) }

func (p excerpt) T() mat.Matrix { return mat.Transpose{Matrix: p} }

// Row writes row i to dst.
func (p excerpt) Row(dst []float64, i int) { copy(dst, RowOf(p.of, p.index[i], dst)) }

// RowsOf is a copy of the rows of x in that order; nil of nil and of no rows.
func RowsOf(x mat.Matrix, rows []int) *mat.Dense {
	if !Given(x) || len(rows) == 0 {
		return nil
	}
	_, d := x.Dims()
	out := mat.NewDense(len(rows), d, nil)
	for k, i := range rows {
		row := out.RawRowView(k)
		copy(row, RowOf(x, i, row))
	}
	return out
}

// Moments is MomentsOf for a matrix.
func Moments(x mat.Matrix) (mean, sd []float64) {
	n, d := x.Dims()
	buffer := make([]float64, d)
	return MomentsOf(n, d, func(i int) []float64 { return RowOf(x, i, buffer) })
}

// Pick is x at some rows.
func Pick[T any](x []T, rows []int) []T {
	out := make([]T, len(rows))
	for k, i := range rows {
		out[k] = x[i]
	}
	return out
}

// MomentsOf are the mean and the standard deviation of each of d columns of n rows.
func MomentsOf(n, d int, row func(i int) []float64) (mean, sd []float64) {
	mean, sd = make([]float64, d), make([]float64, d)
	for i := range n {
		floats.AddScaled(mean, 1/float64(n), row(i))
	}
	for i := range n {
		for j, v := range row(i) {
			sd[j] += (v - mean[j]) * (v - mean[j]) / float64(n)
		}
	}
	for j := range sd {
		if sd[j] = math.Sqrt(sd[j]); sd[j] < 1e-12*(1+math.Abs(mean[j])) { // rounding
			sd[j] = 0
		}
	}
	return mean, sd
}

// Squared is ‖a − b‖².
func Squared(a, b []float64) (sum float64) {
	for j, x := range a {
		sum += (x - b[j]) * (x - b[j])
	}
	return sum
}

package data

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Standardizer shifts and scales columns to mean 0 and standard deviation 1, as
// scikit-learn's StandardScaler does: the deviation divides by N, and a column
// that is constant up to rounding is only shifted.
type Standardizer struct {
	Mean []float64 // M
	SD   []float64 // M, 1 for a constant column, +Inf or NaN where the variance overflows
}

// FitStandardizer measures the columns of x, N×M.
func FitStandardizer(x mat.Matrix) *Standardizer { return FitWeighted(x, nil) }

// FitWeighted is [FitStandardizer] of rows that count as many times as their weights (N);
// nil: once.
func FitWeighted(x mat.Matrix, weights []float64) *Standardizer {
	n, m := x.Dims()
	if weights == nil {
		weights = slices.Repeat([]float64{1}, n)
	}
	total := floats.Sum(weights)
	s := &Standardizer{Mean: make([]float64, m), SD: make([]float64, m)}
	buffer := make([]float64, m)
	for i, w := range weights {
		for j, v := range Row(x, i, buffer) {
			s.Mean[j] += w * v
		}
	}
	for j := range s.Mean {
		s.Mean[j] /= total
	}
	for i, w := range weights {
		for j, v := range Row(x, i, buffer) {
			d := v - s.Mean[j]
			s.SD[j] += w * (d * d)
		}
	}
	const eps = 0x1p-52
	for j := range s.SD {
		variance := s.SD[j] / total
		// What rounding alone can leave of a constant column (scikit-learn's bound).
		rounding := float64(n) * eps * s.Mean[j]
		if s.SD[j] = math.Sqrt(variance); variance <= float64(n)*eps*variance+rounding*rounding && !math.IsInf(variance, 1) {
			s.SD[j] = 1
		}
	}
	return s
}

// Apply is (x − Mean) / SD, N×M, for x with the M columns the standardizer was
// fitted on; it panics for any other number.
func (s *Standardizer) Apply(x mat.Matrix) *mat.Dense {
	n, m := x.Dims()
	s.check(m)
	out := mat.NewDense(n, m, nil)
	for i := range n {
		row := out.RawRowView(i)
		copy(row, Row(x, i, row))
		s.row(row)
	}
	return out
}

func (s *Standardizer) check(m int) {
	if m != len(s.Mean) {
		panic(fmt.Sprintf("data: Standardizer of %d columns applied to %d", len(s.Mean), m))
	}
}

// row standardizes a row in place.
func (s *Standardizer) row(row []float64) {
	for j, v := range row {
		row[j] = (v - s.Mean[j]) / s.SD[j]
	}
}

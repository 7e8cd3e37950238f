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
	unit := s.units(x)
	for i, w := range weights {
		for j, v := range Row(x, i, buffer) {
			d := (v - s.Mean[j]) / unit[j]
			s.SD[j] += w * (d * d)
		}
	}
	const eps = 0x1p-52
	for j := range s.SD {
		variance := s.SD[j] / total
		// What rounding alone can leave of a constant column (scikit-learn's bound).
		rounding := float64(n) * eps * s.Mean[j] / unit[j]
		if s.SD[j] = math.Sqrt(variance) * unit[j]; variance <= float64(n)*eps*variance+rounding*rounding && !math.IsInf(variance, 1) {
			s.SD[j] = 1
		}
	}
	return s
}

// units are what differences from the mean of each column of x are measured in: 1, or the largest where its square
// would be 0.
func (s *Standardizer) units(x mat.Matrix) []float64 {
	n, m := x.Dims()
	far, buffer := make([]float64, m), make([]float64, m)
	for i := range n {
		for j, v := range Row(x, i, buffer) {
			far[j] = max(far[j], math.Abs(v-s.Mean[j]))
		}
	}
	for j, v := range far {
		if v == 0 || v > 0x1p-500 {
			far[j] = 1
		}
	}
	return far
}

// Apply is (x − Mean) / SD, N×M, for x with the M columns the standardizer was
// fitted on; it panics for any other number.
func (s *Standardizer) Apply(x mat.Matrix) (out *mat.Dense) {
	n, m := x.Dims()
	s.check(m)
	blocks(x, n, s.row, func(_ int, z *mat.Dense) { out = z })
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

// CheckScale returns an *InputError for a column of x (N×M), the array of that name in the file at path, whose numbers
// are all denormal in single precision or less, but not all 0: methods would take the column for a constant, or divide
// by its scale and get infinities. Names of the columns may be nil.
func CheckScale(path, array string, x mat.Matrix, names []string) error {
	n, m := x.Dims()
	most, at, buffer := make([]float64, m), make([]int, m), make([]float64, m)
	for i := range n {
		for j, v := range Row(x, i, buffer) {
			if v = math.Abs(v); v > most[j] {
				most[j], at[j] = v, i
			}
		}
	}
	for j, v := range most {
		if v > 0 && v < leastScale {
			column := fmt.Sprintf("column %d, counted from 0,", j)
			if names != nil {
				column += " " + Printable(names[j]) + ","
			}
			return Inputf(path, "%s of %s holds no number beyond ±%.1e (in row %d), too small for single precision, which ends at %.1e; multiply the column in all rows by one number, or set it to 0", column, array, v, at[j], leastScale)
		}
	}
	return nil
}

// leastScale is the least normal number of single precision.
const leastScale = 0x1p-126

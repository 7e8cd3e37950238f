package metrics

import (
	"math"

	"calibra/experiments/internal/checked"
)

// Profile is local error along a quantity of the rows, in quantile bins that each
// class forms of its own rows; the classes are averaged by their row counts.
type Profile struct {
	LCE   []float64 `json:"lce"`   // mean |residual| of the bin
	At    []float64 `json:"at"`    // mean of the quantity in the bin
	Count []int     `json:"count"` // pairs of row and class in the bin
	// Floor is the mean |residual| of the bin under labels redrawn from the predictions,
	// what it would be of a perfectly calibrated model; nil where that was not measured.
	Floor []float64 `json:"floor,omitempty"`
}

// ESSProfile is the local error along the effective sample size of the
// neighbourhood (section 4, figure "local calibration in density-based sub-bins").
func (l *Local) ESSProfile(bins int) Profile { return l.along(bins, l.ESS.At) }

// Profile is the local error along a quantity x of the rows that count (N).
func (l *Local) Profile(x []float64, bins int) Profile {
	return l.along(bins, func(i, _ int) float64 {
		if l.Rows != nil {
			i = l.Rows[i]
		}
		return x[i]
	})
}

func (l *Local) along(bins int, of func(i, c int) float64) Profile {
	p := Profile{LCE: make([]float64, bins), At: make([]float64, bins), Count: make([]int, bins)}
	if l.Floor != nil {
		p.Floor = make([]float64, bins)
	}
	rows, classes := l.Residual.Dims()
	for c := range classes {
		var measured []int
		var x []float64
		for i := range rows {
			if !math.IsNaN(l.Residual.At(i, c)) {
				measured, x = append(measured, i), append(x, of(i, c))
			}
		}
		if len(x) == 0 {
			continue
		}
		for k, b := range checked.QuantileBins(x, bins) {
			p.LCE[b] += math.Abs(l.Residual.At(measured[k], c))
			p.At[b] += x[k]
			p.Count[b]++
			if l.Floor != nil {
				p.Floor[b] += l.Floor.At(measured[k], c)
			}
		}
	}
	for _, sums := range [][]float64{p.LCE, p.At, p.Floor} {
		for b := range sums {
			sums[b] /= float64(max(p.Count[b], 1))
		}
	}
	return p
}

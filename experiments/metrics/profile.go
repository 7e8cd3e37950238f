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
func (l *Local) ESSProfile(bins int) Profile {
	p := Profile{LCE: make([]float64, bins), At: make([]float64, bins), Count: make([]int, bins)}
	rows, classes := l.Residual.Dims()
	if l.Floor != nil {
		p.Floor = make([]float64, bins)
	}
	var x, gap, floor []float64
	for c := range classes {
		x, gap, floor = x[:0], gap[:0], floor[:0]
		for i := range rows {
			if r := l.Residual.At(i, c); !math.IsNaN(r) {
				x, gap = append(x, l.ESS.At(i, c)), append(gap, math.Abs(r))
				if l.Floor != nil {
					floor = append(floor, l.Floor.At(i, c))
				}
			}
		}
		if len(x) == 0 {
			continue
		}
		for i, b := range checked.QuantileBins(x, bins) {
			p.LCE[b] += gap[i]
			p.At[b] += x[i]
			p.Count[b]++
			if l.Floor != nil {
				p.Floor[b] += floor[i]
			}
		}
	}
	for b, n := range p.Count {
		if n > 0 {
			p.LCE[b] /= float64(n)
			p.At[b] /= float64(n)
			if l.Floor != nil {
				p.Floor[b] /= float64(n)
			}
		}
	}
	return p
}

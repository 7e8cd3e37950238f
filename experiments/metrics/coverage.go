package metrics

import (
	"fmt"
	"math"
	"slices"

	"calibra/experiments/internal/checked"

	"gonum.org/v1/gonum/mat"
)

// Coverage is how often prediction sets hold the label.
type Coverage struct {
	Rows     int        `json:"rows"` // that count
	Coverage float64    `json:"coverage"`
	SE       float64    `json:"se"` // binomial, of the coverage, by the effective number of rows
	CI       [2]float64 `json:"ci"` // 95 %, of the coverage
	Size     float64    `json:"mean_size"`
	// Marginal are the same of the sets that use no region.
	Marginal     float64 `json:"marginal_coverage"`
	MarginalSize float64 `json:"marginal_mean_size"`
}

// SetCoverage is the coverage of prediction sets over all rows, and in each cell.
type SetCoverage struct {
	All     Coverage   `json:"all"`
	Regions []Coverage `json:"regions"`
}

// Covered measures sets and marginal ones (N×C each) of predictions, by the cells of their rows (N) and their labels
// (N). It uses Rows and Soft of by.
func Covered(logProbs, sets, marginal *mat.Dense, cell, labels []int, by Settings) (*SetCoverage, error) {
	s, err := checked.NewSample(logProbs, labels, by.Rows, by.Soft)
	if err != nil {
		return nil, err
	}
	n, classes := sets.Dims()
	if m, c := marginal.Dims(); m != n || c != classes || len(cell) != n || s.Input != n || s.Classes != classes {
		return nil, fmt.Errorf("metrics: coverage: predictions are %d×%d, sets %d×%d, marginal ones %d×%d, with %d cells: they must be of the same rows", s.Input, s.Classes, n, classes, m, c, len(cell))
	}
	if i := slices.IndexFunc(cell, func(k int) bool { return k < 0 || k >= n }); i >= 0 {
		return nil, fmt.Errorf("metrics: coverage: row %d has cell %d", i, cell[i])
	}
	all := slices.Max(cell) + 1 // rows are of their cell, and of all
	covered, total, squares := make([]Coverage, all+1), make([]float64, all+1), make([]float64, all+1)
	for at := range s.N {
		i, w := s.InputRow(at), s.W(at)
		for _, k := range []int{cell[i], all} {
			c := &covered[k]
			c.Rows++
			total[k] += w
			squares[k] += w * w
			for y := range classes {
				c.Coverage += w * s.Share(at, y) * sets.At(i, y)
				c.Marginal += w * s.Share(at, y) * marginal.At(i, y)
				c.Size += w * sets.At(i, y)
				c.MarginalSize += w * marginal.At(i, y)
			}
		}
	}
	for k, n := range total {
		if n == 0 {
			continue
		}
		c := &covered[k]
		c.Coverage, c.Size, c.Marginal, c.MarginalSize = c.Coverage/n, c.Size/n, c.Marginal/n, c.MarginalSize/n
		effective := n * n / squares[k]
		c.SE = math.Sqrt(max(0, c.Coverage*(1-c.Coverage)) / effective)
		i := ShareInterval(c.Coverage*effective, effective)
		c.CI = [2]float64{i.Low, i.High}
	}
	return &SetCoverage{All: covered[all], Regions: covered[:all]}, nil
}

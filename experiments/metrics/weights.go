package metrics

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Rows may count differently ([Settings.Rows]): row i as w_i ≤ 1 rows. A row that counts as more is
// several rows, whole ones and one of what is left, as package data hands them over. So a whole
// weight is that many copies, and weights of at most 1 may be multiplied by any number: values are
// means by weight, an interval resamples rows with their weights, a noise floor redraws a label for
// each, and what needs a number of rows n takes the effective one, (Σ w)²/Σ w² (Kish 1965).

// checkRows returns an error unless weights are those of n rows.
func checkRows(weights []float64, n int) error {
	if weights == nil {
		return nil
	}
	if len(weights) != n {
		return fmt.Errorf("metrics: settings: %d weights for %d rows: give one a row", len(weights), n)
	}
	if i := slices.IndexFunc(weights, func(w float64) bool { return !(w > 0 && w <= 1) }); i >= 0 {
		return fmt.Errorf("metrics: settings: row %d counts as %v rows: want more than 0 and at most 1", i, weights[i])
	}
	return nil
}

// w is as how many rows row i counts.
func (s *sample) w(i int) float64 {
	if s.weight == nil {
		return 1
	}
	return s.weight[i]
}

// total is Σ w.
func (s *sample) total() (sum float64) {
	for i := range s.rows {
		sum += s.w(i)
	}
	return sum
}

// squared is Σ w².
func (s *sample) squared() (sum float64) {
	for i := range s.rows {
		sum += s.w(i) * s.w(i)
	}
	return sum
}

// weights are w, in memory of their own.
func (s *sample) weights() []float64 {
	if s.weight == nil {
		return ones(s.rows)
	}
	return slices.Clone(s.weight)
}

// times are how often each row was drawn, by its weight, in place.
func (s *sample) times(drawn []float64) []float64 {
	for i := range drawn {
		drawn[i] *= s.w(i)
	}
	return drawn
}

// mean is that of x by weight.
func (s *sample) mean(x []float64) float64 {
	var sum float64
	for i, v := range x {
		sum += s.w(i) * v
	}
	return sum / s.total()
}

// plain makes of the rows' parts of a mean by weight those of a plain mean, in place.
func (s *sample) plain(x []float64) []float64 {
	total := s.total()
	for i, w := range s.weight {
		x[i] = x[i] * w * float64(s.rows) / total
	}
	return x
}

// weightedEdges are quantileEdges of values that count by their weights: each begins where
// those below it end, and an edge lies between two values as it lies between their beginnings.
func weightedEdges(x, weights []float64, bins int) []float64 {
	if weights == nil {
		return quantileEdges(x, bins)
	}
	order := firstToLast(len(x))
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(x[i], x[j]) })
	begins := make([]float64, len(x))
	for k := 1; k < len(order); k++ {
		begins[k] = begins[k-1] + weights[order[k-1]]
	}
	edges, at := make([]float64, bins+1), 0
	for k := range edges {
		position := float64(k) / float64(bins) * begins[len(begins)-1]
		for at+1 < len(begins) && begins[at+1] <= position*(1+1e-12) { // but for rounding
			at++
		}
		edges[k] = x[order[at]]
		if at+1 < len(begins) {
			part := math.Max(0, position-begins[at]) / weights[order[at]]
			edges[k] += part * (x[order[at+1]] - x[order[at]])
		}
	}
	return edges
}

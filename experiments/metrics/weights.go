package metrics

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// A row is one observation. Its weight ([Settings.Rows]) multiplies what it adds to any sum: values
// are means by weight, an interval resamples rows with their weights, a noise floor redraws a label
// for each row, and what needs a number of rows n takes the effective one, (Σ w)²/Σ w² (Kish 1965).
// Rows of weight 0 are left out. The weights of the others are divided by their mean and rounded to
// 32 binary digits, so that only their ratios matter, to the byte; where all are equal there are none.

// counting are weights of n rows, 1 on average, without those of 0; of are the rows that have one,
// nil where all have.
func counting(weights []float64, n int) (scaled []float64, of []int, err error) {
	if weights == nil {
		return nil, nil, nil
	}
	if len(weights) != n {
		return nil, nil, fmt.Errorf("metrics: %d weights for %d rows: give one a row", len(weights), n)
	}
	if i := slices.IndexFunc(weights, func(w float64) bool { return !(w >= 0) || math.IsInf(w, 1) }); i >= 0 {
		return nil, nil, fmt.Errorf("metrics: row %d has the weight %v: want a finite number of 0 or more", i, weights[i])
	}
	for i, w := range weights {
		if w > 0 {
			of, scaled = append(of, i), append(scaled, w)
		}
	}
	if of == nil {
		return nil, nil, fmt.Errorf("metrics: the weights of all rows are 0: some row must count")
	}
	most, least := slices.Max(scaled), slices.Min(scaled)
	if len(of) == n {
		of = nil
	}
	if most == least {
		return nil, of, nil
	}
	var sum float64
	for k := range scaled {
		scaled[k] /= most // whose sum cannot overflow
		sum += scaled[k]
	}
	for k := range scaled {
		scaled[k] = max(shortened(scaled[k]*float64(len(scaled))/sum), math.SmallestNonzeroFloat64) // and not what must be left out
	}
	return scaled, of, nil
}

// shortened is x without the last 21 of its 53 binary digits, in which the same weights times a number may differ.
func shortened(x float64) float64 {
	const digits = 32
	fraction, exponent := math.Frexp(x)
	return math.Ldexp(math.RoundToEven(fraction*(1<<digits)), exponent-digits)
}

// counted are the rows of x, one for each row of the input, that count.
func (s *sample) counted(x mat.Matrix) mat.Matrix {
	if s.of == nil {
		return x
	}
	return partOf(x, s.of)
}

// inputRow is the input's number of row i.
func (s *sample) inputRow(i int) int {
	if s.of == nil {
		return i
	}
	return s.of[i]
}

// inputRows are the input's numbers of rows.
func (s *sample) inputRows(rows []int) []int {
	if s.of == nil || rows == nil {
		return rows
	}
	return pick(s.of, rows)
}

// ownRows are the places of the input's rows, which all count and ascend.
func (s *sample) ownRows(rows []int) []int {
	if s.of == nil {
		return rows
	}
	out := make([]int, len(rows))
	for k, i := range rows {
		out[k], _ = slices.BinarySearch(s.of, i)
	}
	return out
}

// w is the weight of row i.
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

// plain makes of the rows' values x numbers whose plain mean is m, that of x by weight, in place:
//
//	m + w_i (x_i − m)
//
// They vary as m does when rows are resampled with their weights (the linear part of the ratio m), and
// their differences are those of x, so that whatever takes one number a row takes these.
func (s *sample) plain(x []float64) []float64 {
	if s.weight == nil {
		return x
	}
	m := s.mean(x)
	for i, w := range s.weight {
		x[i] = m + w*(x[i]-m)
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

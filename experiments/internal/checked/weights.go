package checked

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// A row is one observation. Its weight multiplies what it adds to any sum: values
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
		return nil, nil, fmt.Errorf("%d weights for %d rows: give one a row", len(weights), n)
	}
	if i := slices.IndexFunc(weights, func(w float64) bool { return !(w >= 0) || math.IsInf(w, 1) }); i >= 0 {
		return nil, nil, fmt.Errorf("row %d has the weight %v: want a finite number of 0 or more", i, weights[i])
	}
	for i, w := range weights {
		if w > 0 {
			of, scaled = append(of, i), append(scaled, w)
		}
	}
	if of == nil {
		return nil, nil, fmt.Errorf("the weights of all rows are 0: some row must count")
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

// Counted are the rows of x, one for each row of the input, that count.
func (s *Sample) Counted(x mat.Matrix) mat.Matrix {
	if s.Of == nil {
		return x
	}
	return PartOf(x, s.Of)
}

// InputRow is the input's number of row i.
func (s *Sample) InputRow(i int) int {
	if s.Of == nil {
		return i
	}
	return s.Of[i]
}

// InputRows are the input's numbers of rows.
func (s *Sample) InputRows(rows []int) []int {
	if s.Of == nil || rows == nil {
		return rows
	}
	return Pick(s.Of, rows)
}

// OwnRows are the places of the input's rows, which all count and ascend.
func (s *Sample) OwnRows(rows []int) []int {
	if s.Of == nil {
		return rows
	}
	out := make([]int, len(rows))
	for k, i := range rows {
		out[k], _ = slices.BinarySearch(s.Of, i)
	}
	return out
}

// W is the weight of row i.
func (s *Sample) W(i int) float64 {
	if s.Weight == nil {
		return 1
	}
	return s.Weight[i]
}

// Total is Σ w.
func (s *Sample) Total() (sum float64) {
	for i := range s.N {
		sum += s.W(i)
	}
	return sum
}

// Effective is as how many rows of one weight the rows count, (Σ w)²/Σ w².
func (s *Sample) Effective() float64 {
	if s.Weight == nil {
		return float64(s.N)
	}
	return Effective(s.Weight)
}

// Effective is as how many observations of one weight those of these weights count (Kish 1965).
func Effective(weight []float64) float64 {
	var sum, squares float64
	for _, w := range weight {
		sum += w
		squares += w * w
	}
	return sum * sum / squares
}

// Weights are w, in memory of their own.
func (s *Sample) Weights() []float64 {
	if s.Weight == nil {
		return slices.Repeat([]float64{1}, s.N)
	}
	return slices.Clone(s.Weight)
}

// Times are how often each row was drawn, by its weight, in place.
func (s *Sample) Times(drawn []float64) []float64 {
	for i := range drawn {
		drawn[i] *= s.W(i)
	}
	return drawn
}

// Mean is the mean of x by weight.
func (s *Sample) Mean(x []float64) float64 {
	var sum float64
	for i, v := range x {
		sum += s.W(i) * v
	}
	return sum / s.Total()
}

// plain makes of the rows' values x numbers whose plain mean is m, that of x by weight, in place:
//
//	m + w_i (x_i − m)
//
// They vary as m does when rows are resampled with their weights (the linear part of the ratio m), and
// their differences are those of x, so that whatever takes one number a row takes these.
func (s *Sample) Plain(x []float64) []float64 {
	if s.Weight == nil {
		return x
	}
	m := s.Mean(x)
	for i, w := range s.Weight {
		x[i] = m + w*(x[i]-m)
	}
	return x
}

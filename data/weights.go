package data

import (
	"fmt"
	"iter"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// A row is one observation with a weight: the weight multiplies the row's loss, and never makes copies of it. Sets and
// predictions have the weights that the file has. Whoever fits takes them from [Set.ForFit].

// weights reads the array key of n weights, nil where the file has none.
func (a *archive) weights(key string, n int) ([]float64, error) {
	if !a.has(key) {
		return nil, nil
	}
	e, err := a.entry(key)
	switch {
	case err != nil:
		return nil, err
	case e.text():
		return nil, e.unfit()
	case len(e.shape) != 1 || e.shape[0] != n:
		return nil, e.fault("has shape %s and there are %d rows; it must have one weight for each", shapeString(e.shape), n)
	}
	weights, err := values[float64](e, n, 1, func(float64) bool { return true })
	if err != nil {
		return nil, err
	}
	for i, v := range weights {
		if !(v >= 0 && v <= math.MaxFloat64) {
			return nil, e.fault("holds %v at row %d; a weight is a number of 0 or more", v, i)
		}
	}
	switch total := floats.Sum(weights); {
	case total == 0:
		return nil, e.fault("is zero for every row; some row must count")
	case math.IsInf(total, 1):
		return nil, e.fault("has a sum that is too large to compute with; divide all weights by one number")
	}
	return weights, nil
}

// ForFit is the set as fits take it: the rows of positive weight, whose weights are
//
//	w_i N / Σ_j w_j , rounded to float32,
//
// so that they sum to their number N. Multiplying all weights by one number changes nothing: rounding removes the
// differences in the last digits of float64. If all are equal there are no weights; if no weight is positive, it is
// nil.
func (s *Set) ForFit() *Set {
	if s == nil || s.Weights == nil {
		return s
	}
	var index []int
	for i, w := range s.Weights {
		if w > 0 {
			index = append(index, i)
		}
	}
	if index == nil {
		return nil
	}
	out := s.Rows(index)
	largest := floats.Max(out.Weights)
	if floats.Min(out.Weights) == largest {
		out.Weights = nil
		return out
	}
	floats.Scale(1/largest, out.Weights)
	scale := float64(len(index)) / floats.Sum(out.Weights)
	for i, w := range out.Weights {
		out.Weights[i] = float64(float32(w * scale))
	}
	return out
}

// at is x at the given places, nil of nil.
func at[T any](x []T, index []int) []T {
	if x == nil {
		return nil
	}
	out := make([]T, len(index))
	for i, r := range index {
		out[i] = x[r]
	}
	return out
}

// Weight is the weight of row i, 1 without weights.
func (s *Set) Weight(i int) float64 {
	if s.Weights == nil {
		return 1
	}
	return s.Weights[i]
}

// Total is the sum of the weights, N without.
func (s *Set) Total() float64 {
	if s.Weights == nil {
		return float64(s.Len())
	}
	return floats.Sum(s.Weights)
}

// Effective is Kish's effective number of rows, (Σ w)² / Σ w²: N where all weights are equal.
func (s *Set) Effective() float64 { return Effective(s.Weights, s.Len()) }

// Effective is Kish's effective number of n rows of these weights; nil: n.
func Effective(weights []float64, n int) float64 {
	if weights == nil {
		return float64(n)
	}
	largest := floats.Max(weights) // lest squares overflow
	var sum, squares float64
	for _, w := range weights {
		sum, squares = sum+w/largest, squares+(w/largest)*(w/largest)
	}
	return sum * sum / squares
}

// Certain reports whether the rows have no weights and one class each, as most have.
func (s *Set) Certain() bool { return s.Weights == nil && s.Soft == nil }

// Share is the probability that row i is of class k.
func (s *Set) Share(i, k int) float64 {
	switch {
	case s.Soft != nil:
		return s.Soft.At(i, k)
	case s.Labels[i] == k:
		return 1
	}
	return 0
}

// Shares are the possible classes of row i with their probabilities: its label with 1, or the
// classes of its soft label.
func (s *Set) Shares(i int) iter.Seq2[int, float64] {
	return func(yield func(k int, share float64) bool) {
		if s.Soft == nil {
			yield(s.Labels[i], 1)
			return
		}
		for k, q := range s.Soft.RawRowView(i) {
			if q > 0 && !yield(k, q) {
				return
			}
		}
	}
}

// Targets are w_i q_ic (N×C): of each row its weight times the shares of its classes.
func (s *Set) Targets(classes int) *mat.Dense {
	out := mat.NewDense(len(s.Labels), classes, nil)
	for i := range s.Labels {
		for k, q := range s.Shares(i) {
			out.Set(i, k, s.Weight(i)*q)
		}
	}
	return out
}

// CrossEntropy is −Σ_c q_ic log p_ic of row i: of a certain label −log p of it.
func (s *Set) CrossEntropy(i int, logProbs []float64) float64 {
	var sum float64
	for k, q := range s.Shares(i) {
		sum -= q * logProbs[k]
	}
	return sum
}

// MeanNLL is the mean of CrossEntropy by weight, of log-probabilities that are at least least.
func (s *Set) MeanNLL(logProbs *mat.Dense, least float64) float64 {
	var sum float64
	row := make([]float64, logProbs.RawMatrix().Cols)
	for i := range s.Labels {
		for k, l := range logProbs.RawRowView(i) {
			row[k] = max(l, least)
		}
		sum += s.Weight(i) * s.CrossEntropy(i, row)
	}
	return sum / s.Total()
}

// Counts are the sums over the rows of their weights, times their shares of each class: of rows without either how many
// have it. The classes are 0…classes−1, or as far as the labels reach.
func (s *Set) Counts(classes int) []float64 {
	if s.Soft != nil {
		classes = max(classes, s.Soft.RawMatrix().Cols)
	}
	counts := make([]float64, classes)
	for i, y := range s.Labels {
		for y >= len(counts) {
			counts = append(counts, 0)
		}
		for k, q := range s.Shares(i) {
			counts[k] += s.Weight(i) * q
		}
	}
	return counts
}

// soft reads labels (N×C): the probability of each class, as soft, or 1 in the column of the row's
// class and 0 in the others, as labels alone. The label of a soft row is its most probable class.
func (e *entry) soft() (labels []int, soft *mat.Dense, err error) {
	m, err := e.matrix(onlyFinite)
	if err != nil {
		return nil, nil, err
	}
	n, _ := m.Dims()
	labels = make([]int, n)
	certain := true
	j := &Judge{}
	j.Add(m, 0)
	for i := range n {
		row := m.RawRowView(i)
		sum := floats.Sum(row)
		if k := slices.IndexFunc(row, func(v float64) bool { return v < 0 }); k >= 0 || math.Abs(sum-1) > j.allowed(1) {
			negative := ""
			if k >= 0 {
				negative = fmt.Sprintf(" and has a negative number in column %d", k)
			}
			return nil, nil, Inputf(e.a.path, "row %d of %s sums to %.6g%s; hand over one class for each row, or the probabilities of all classes, which sum to 1", i, e.key, sum, negative)
		}
		labels[i] = floats.MaxIdx(row)
		if row[labels[i]] != 1 || sum != 1 {
			certain = false
			floats.Scale(1/sum, row)
		}
	}
	if certain {
		return labels, nil, nil
	}
	return labels, m, nil
}

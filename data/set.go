package data

import (
	"slices"

	"gonum.org/v1/gonum/mat"
)

// Set is a labelled sample of a frozen classifier's outputs: what it saw last
// (the penultimate features), what it said (the logits) and what was true.
//
// Features and Logits may be nil where a source has only one of them, Labels
// where the truth is not known.
type Set struct {
	Features mat.Matrix // N×M: a *mat.Dense, or *Singles as a file of single precision has them
	Logits   *mat.Dense // N×C; once read, log-probabilities (see [LogProbs]): −∞ of a class that cannot be
	Labels   []int      // N values in 0…C−1
	// Resolution is how far rounding may have moved a normalized probability, relative to it: the most by which a row
	// of probabilities, or of their logarithms, misses the sum of 1, 1e-7 in float32, 1.5e-6 of three classes in six
	// decimals; 0 of other logits. Probabilities that rounding can have moved apart are one value.
	Resolution float64
	// Scores is what the logits were before they became log-probabilities; "" where that is not known.
	Scores Scores
	// LabelClasses is C where no logits give it but other rows do, as the test rows of the
	// same file; 0: the labels are all there is.
	LabelClasses int
	// Numbers are which rows of a larger set these are (N), so that the parts of
	// several splits can be matched row by row; nil where they are no such part.
	Numbers []int
	Names   Names
	// Weights multiply the losses of the rows (N): finite, 0 or more, not all 0, and otherwise of any size, as the
	// file has them; nil: 1 each. Fits take the weights of [Set.ForFit].
	Weights []float64
	// TestWeights are the weights by which tests count the rows (N), where a row has the weight of its copies too and
	// these have 0; nil: Weights.
	TestWeights []float64
	// Soft are the probabilities of the classes (N×C) if classes are not certain; Labels are then the
	// classes of largest probability. nil: Labels are certain.
	Soft *mat.Dense
	// Groups are the groups of test rows.
	Groups Groups
}

// Len is N, the number of rows.
func (s *Set) Len() int {
	switch {
	case s.Features != nil:
		n, _ := s.Features.Dims()
		return n
	case s.Logits != nil:
		return s.Logits.RawMatrix().Rows
	}
	return len(s.Labels)
}

// Width is M, the number of columns of Features, or 0 without features.
func (s *Set) Width() (m int) {
	if s.Features != nil {
		_, m = s.Features.Dims()
	}
	return m
}

// Classes is C, the number of columns of Logits, or 0 without logits.
func (s *Set) Classes() int {
	if s.Logits == nil {
		return 0
	}
	return s.Logits.RawMatrix().Cols
}

// InvalidLabel is the first row with a label that is none of the classes, 0…classes−1, or −1.
func InvalidLabel(labels []int, classes int) int {
	return slices.IndexFunc(labels, func(y int) bool { return y < 0 || y >= classes })
}

// Rows is a new set of the rows at the given indices, in that order; an index may
// repeat. Rows of rows keep the numbers of the first set.
func (s *Set) Rows(index []int) *Set {
	out := &Set{Features: Select(s.Features, index), Logits: RowsOf(s.Logits, index), LabelClasses: s.LabelClasses,
		Resolution: s.Resolution, Scores: s.Scores, Numbers: at(s.Numbers, index), Names: s.Names, Weights: at(s.Weights, index), TestWeights: at(s.TestWeights, index), Soft: RowsOf(s.Soft, index), Labels: at(s.Labels, index), Groups: s.Groups.Rows(index)}
	if s.Numbers == nil {
		out.Numbers = slices.Clone(index)
	}
	return out
}

// RowsOf is a new matrix of the rows of m at the given indices, in that order; nil if m
// is nil or there are none.
func RowsOf(m *mat.Dense, index []int) *mat.Dense {
	if m == nil || len(index) == 0 {
		return nil
	}
	out := mat.NewDense(len(index), m.RawMatrix().Cols, nil)
	for i, r := range index {
		out.SetRow(i, m.RawRowView(r))
	}
	return out
}

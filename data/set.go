package data

import "gonum.org/v1/gonum/mat"

// Set is a labelled sample of a frozen classifier's outputs: what it saw last
// (the penultimate features), what it said (the logits) and what was true.
//
// Features and Logits may be nil where a source has only one of them, Labels
// where the truth is not known.
type Set struct {
	Features *mat.Dense // N×M
	Logits   *mat.Dense // N×C
	Labels   []int      // N values in 0…C−1
}

// Predictions is what a calibrator says of a Set.
type Predictions struct {
	LogProbs *mat.Dense // N×C, rows whose exponentials sum to 1
	Labels   []int      // N values in 0…C−1, nil where the truth is not known
}

// Len is N, the number of rows.
func (s *Set) Len() int {
	switch {
	case s.Features != nil:
		return s.Features.RawMatrix().Rows
	case s.Logits != nil:
		return s.Logits.RawMatrix().Rows
	}
	return len(s.Labels)
}

// Classes is C, the number of columns of Logits, or 0 without logits.
func (s *Set) Classes() int {
	if s.Logits == nil {
		return 0
	}
	return s.Logits.RawMatrix().Cols
}

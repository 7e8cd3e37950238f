package data

import (
	"slices"

	"gonum.org/v1/gonum/mat"
)

// Together is one set of the rows of several of one file, set after set: what all of them have. Rows without weights
// weigh 1, and rows whose labels are certain have them for their soft labels where others have these.
func Together(sets ...*Set) *Set {
	all := &Set{Names: sets[0].Names, Scores: sets[0].Scores}
	for _, s := range sets {
		all.Labels = append(all.Labels, s.Labels...)
		if s.Scores != all.Scores {
			all.Scores = ""
		}
		all.Resolution, all.LabelClasses = max(all.Resolution, s.Resolution), max(all.LabelClasses, s.LabelClasses)
	}
	all.Features = stacked(sets, func(s *Set) mat.Matrix { return s.Features })
	if logits := stacked(sets, func(s *Set) mat.Matrix { return orNone(s.Logits) }); logits != nil {
		all.Logits = logits.(*mat.Dense)
	}
	if slices.ContainsFunc(sets, func(s *Set) bool { return s.Weights != nil }) {
		for _, s := range sets {
			all.Weights = append(all.Weights, Each(UpTo(s.Len()), s.Weight)...)
		}
	}
	if slices.ContainsFunc(sets, func(s *Set) bool { return s.Soft != nil }) {
		classes := max(all.Classes(), all.LabelClasses)
		all.Soft = stacked(sets, func(s *Set) mat.Matrix { return (&Set{Labels: s.Labels, Soft: s.Soft}).Targets(classes) }).(*mat.Dense)
	}
	return all
}

// orNone is a matrix, or nil where there is none.
func orNone(m *mat.Dense) mat.Matrix {
	if m == nil {
		return nil
	}
	return m
}

// stacked are the rows of a matrix of each set, one below the other, in the precision of the first; nil where a set has
// none.
func stacked(sets []*Set, of func(*Set) mat.Matrix) mat.Matrix {
	first := of(sets[0])
	if first == nil {
		return nil
	}
	_, columns := first.Dims()
	var values []float64
	for _, s := range sets {
		m := of(s)
		if m == nil {
			return nil
		}
		n, _ := m.Dims()
		row := make([]float64, columns)
		for i := range n {
			values = append(values, Row(m, i, row)...)
		}
	}
	if _, single := first.(*Singles); single {
		return NewSingles(Each(values, func(v float64) float32 { return float32(v) }), columns)
	}
	return mat.NewDense(len(values)/columns, columns, values)
}

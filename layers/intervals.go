package layers

import (
	"context"
	"fmt"

	"calibra/data"
	"calibra/graph/work"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

var _ BoundedInStages = (*Trained)(nil)

// Unbounded refuses what is not fitted, and a map without learned weights.
func (t *Trained) Unbounded() error {
	switch {
	case t == nil || t.weights == nil:
		return ErrUnfitted
	case t.weights.Size() == 0:
		return fmt.Errorf("layers: the map %s has no learned weight, so there is nothing that other rows would move", NameOf(t.Map))
	}
	return nil
}

// Sizes are the sizes of the base.
func (t *Trained) Sizes() Sizes { return t.Base.Sizes() }

// Bounds are by [Sandwich] with the penalty of the fit; the base is taken as given.
func (t *Trained) Bounds(ctx context.Context, cal, x *data.Set, level float64) (lower, upper *mat.Dense, err error) {
	ridge, err := t.Ridge()
	if err != nil {
		return nil, nil, err
	}
	spread, err := t.Sandwich(work.Span(ctx, "", 0, seenShare(cal, x)), cal, ridge)
	if err != nil {
		return nil, nil, err
	}
	return t.Intervals(work.Span(ctx, "", seenShare(cal, x), 1), spread, x, level)
}

// seenShare is which share of the time the two passes over the calibration rows take, beside the one over the rows that
// are bounded.
func seenShare(cal, x *data.Set) float64 {
	passes := float64(2 * cal.Len())
	return passes / (passes + float64(x.Len()))
}

// BoundsOfStages are by [TwoStage] with the penalties of both fits. The base must be [Quantizing].
func (t *Trained) BoundsOfStages(ctx context.Context, cal, x *data.Set, level float64) (lower, upper *mat.Dense, err error) {
	ridge, err := t.Ridge()
	if err != nil {
		return nil, nil, err
	}
	headRidge := 0.0
	if base, ok := t.Base.(Quantizing); ok { // TwoStage refuses the others
		if headRidge, err = base.Ridge(); err != nil {
			return nil, nil, err
		}
	}
	spread, err := t.TwoStage(work.Span(ctx, "", 0, seenShare(cal, x)), cal, ridge, headRidge)
	if err != nil {
		return nil, nil, err
	}
	return t.TwoStageIntervals(work.Span(ctx, "", seenShare(cal, x), 1), spread, x, level)
}

// FewestEvents is how many calibration rows of a class, and of the others, the normal law of its logit needs. Of vector
// scaling fitted to 1,000 rows, 90 % intervals of a class of which two rows are expected hold the truth in .77 of the
// draws that have five to nine.
const FewestEvents = 10

// Trusted is 1 of each class (C) whose intervals stand on [FewestEvents] effective rows of it and of the others, else
// 0.
func Trusted(cal *data.Set, s Sizes) []float64 {
	out, total := make([]float64, s.Classes), floats.Sum(s.Counts)
	if cal == nil {
		return out
	}
	scale := cal.Effective() / float64(cal.Len())
	for c, n := range s.Counts {
		if min(n, total-n)*scale >= FewestEvents {
			out[c] = 1
		}
	}
	return out
}

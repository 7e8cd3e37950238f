package layers

import (
	"context"
	"fmt"

	"calibra/data"

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
	spread, err := t.Sandwich(ctx, cal, ridge)
	if err != nil {
		return nil, nil, err
	}
	return t.Intervals(ctx, spread, x, level)
}

// BoundsOfStages are by [TwoStage] with the penalties of both fits. The base must be [Headed].
func (t *Trained) BoundsOfStages(ctx context.Context, cal, x *data.Set, level float64) (lower, upper *mat.Dense, err error) {
	ridge, err := t.Ridge()
	if err != nil {
		return nil, nil, err
	}
	headRidge := 0.0
	if base, ok := t.Base.(Headed); ok { // TwoStage refuses the others
		if headRidge, err = base.Ridge(); err != nil {
			return nil, nil, err
		}
	}
	spread, err := t.TwoStage(ctx, cal, ridge, headRidge)
	if err != nil {
		return nil, nil, err
	}
	return t.TwoStageIntervals(ctx, spread, x, level)
}

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

// Sizes are those of the base.
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

// BoundsOfStages are by [TwoStage] with the penalties of both fits. The base must be [Headed], and fitted to the rows of the map.
func (t *Trained) BoundsOfStages(ctx context.Context, cal, x *data.Set, level float64) (lower, upper *mat.Dense, err error) {
	base, headed := t.Base.(Headed)
	switch {
	case !headed:
		return nil, nil, fmt.Errorf("layers: intervals of two stages count the error of a head, and %s has none that it tells of", NameOf(t.Base))
	case t.weights == nil:
		return nil, nil, ErrUnfitted
	case t.fitted() != base.Sizes().Rows():
		return nil, nil, fmt.Errorf("layers: intervals of two stages are of a head and a map that were fitted to the same rows; this head was fitted to %d and its map to %d: take the head as given by Sandwich, or fit both again", base.Sizes().Rows(), t.fitted())
	}
	var ridges Ridges
	if ridges.Map, err = t.Ridge(); err != nil {
		return nil, nil, err
	}
	if ridges.Head, err = base.Ridge(); err != nil {
		return nil, nil, err
	}
	seen, err := t.viewOf(cal)
	if err != nil {
		return nil, nil, err
	}
	view, err := t.viewOf(x)
	if err != nil {
		return nil, nil, err
	}
	quantized := func(v *View) *mat.Dense { return data.Dense(base.Quantized(v)) }
	spread, err := NewTwoStage(ctx, t.Map, t.weights, Observe(seen, cal, t.fitted()), quantized(seen), base.Sizes(), ridges)
	if err != nil {
		return nil, nil, err
	}
	return spread.Intervals(ctx, view, quantized(view), level)
}

package cli

import (
	"context"

	"calibra/data"
	"calibra/layers"

	"gonum.org/v1/gonum/mat"
)

// publishedRidge is the weight decay that every map, and every quantized head, of calibra fit
// is trained with.
const publishedRidge = 1e-3

// intervals are the bounds of each posterior of the test rows at a level (arrays
// lower and upper, N×C), from the calibration rows in the same file; with the head's error
// too if twoStage.
func intervals(ctx context.Context, t *terminal, model *layers.Trained, src *data.Source, level float64, twoStage bool) ([]data.Array, error) {
	if err := src.Require("cal_features", "cal_labels"); err != nil {
		return nil, err
	}
	// Each part of the work has a bar of its own: what they take is in no fixed proportion.
	bar, part := t.progress(), ""
	ctx = layers.WithProgress(ctx, func(what string, done, total int) {
		if what != part {
			bar.clear()
			bar, part = t.progress(), what
		}
		bar.at(float64(done), float64(total), what+bar.left(float64(done), float64(total)))
	})
	defer func() { bar.clear() }()
	bounds := bothStages
	if !twoStage {
		bounds = mapAlone
	}
	lower, upper, err := bounds(ctx, model, src, level)
	if err != nil {
		return nil, err
	}
	return []data.Array{{Name: "lower", Value: lower}, {Name: "upper", Value: upper}}, nil
}

// mapAlone takes the head as given.
func mapAlone(ctx context.Context, trained *layers.Trained, src *data.Source, level float64) (lower, upper *mat.Dense, err error) {
	spread, err := trained.Sandwich(ctx, src.Cal, publishedRidge)
	if err != nil {
		return nil, nil, asUsage(err)
	}
	return trained.Intervals(ctx, spread, src.Test, level)
}

// bothStages counts the error of the head too.
func bothStages(ctx context.Context, trained *layers.Trained, src *data.Source, level float64) (lower, upper *mat.Dense, err error) {
	spread, err := trained.TwoStage(ctx, src.Cal, publishedRidge, publishedRidge)
	if err != nil {
		return nil, nil, asUsage(err)
	}
	return trained.TwoStageIntervals(ctx, spread, src.Test, level)
}

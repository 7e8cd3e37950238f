package cli

import (
	"context"
	"fmt"

	"calibra/data"
	"calibra/layers"
)

// publishedRidge is the weight decay that every map of calibra fit is trained with.
const publishedRidge = 1e-3

// intervals are the bounds of each posterior of the test rows at a level (arrays
// lower and upper, N×C), from the calibration rows in the same file.
func intervals(ctx context.Context, model layers.Stateful, src *data.Source, level float64) ([]data.Array, error) {
	trained, ok := model.(*layers.Trained)
	if !ok {
		return nil, usageError{fmt.Errorf("--intervals is known for the bilinear map only (method vq)")}
	}
	if err := src.Require("cal_features", "cal_labels"); err != nil {
		return nil, err
	}
	spread, err := trained.Sandwich(ctx, src.Cal, publishedRidge)
	if err != nil {
		return nil, asUsage(err)
	}
	lower, upper, err := trained.Intervals(ctx, spread, src.Test, level)
	if err != nil {
		return nil, err
	}
	return []data.Array{{Name: "lower", Value: lower}, {Name: "upper", Value: upper}}, nil
}

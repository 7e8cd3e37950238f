package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"calibra/data"
	"calibra/experiments"
	"calibra/layers"
	"calibra/optim"

	"gonum.org/v1/gonum/mat"
)

// intervals are the bounds of each posterior of the test rows at a level (arrays
// lower and upper, N×C), from the calibration rows in the same file; with the head's error
// too if twoStage. The model's inputs, and the run in dir, tell which of these rows it was
// fitted to.
func intervals(ctx context.Context, t *terminal, model *layers.Trained, inputs *layers.Inputs, dir string, src *data.Source, level float64, twoStage bool) ([]data.Array, error) {
	if err := src.Require("cal_features", "cal_labels"); err != nil {
		return nil, err
	}
	cal, err := fittedRows(t, model, inputs, dir, src)
	if err != nil {
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
	lower, upper, err := bounds(ctx, model, cal, src.Test, level)
	if err != nil {
		return nil, err
	}
	return []data.Array{{Name: "lower", Value: lower}, {Name: "upper", Value: upper}}, nil
}

// fittedRows are the calibration rows of src that the model was fitted to: all of them, or
// those that the run's split left. Where it is neither, a warning says so; all of them then
// stand for as many as were fitted.
func fittedRows(t *terminal, trained *layers.Trained, inputs *layers.Inputs, dir string, src *data.Source) (*data.Set, error) {
	sizes := trained.Base.Sizes()
	counts := sizes.Counts
	if n := len(counts); src.Cal.Logits != nil && src.Cal.Classes() != n {
		return nil, data.Inputf(src.Path, "cal_logits has %d columns and the model was fitted on %d classes; the intervals need the calibration rows of the fit", src.Cal.Classes(), n)
	} else if i := data.Stray(src.Cal.Labels, n); i >= 0 {
		return nil, data.Inputf(src.Path, "cal_labels holds %d at row %d and the model was fitted on %d classes; the intervals need the calibration rows of the fit", src.Cal.Labels[i], i, n)
	}
	fitted := func(rows *data.Set) bool {
		have := make([]int, len(counts))
		for _, y := range rows.Labels {
			have[y]++
		}
		return slices.Equal(have, counts) && inputs.Of(rows)
	}
	if fitted(src.Cal) {
		return src.Cal, nil
	}
	spec, err := experiments.ReadSpec(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err == nil {
		rows, err := spec.Calibration(src)
		if err == nil && fitted(rows) {
			return rows, nil
		}
	}
	total := sizes.Rows()
	t.warn("warning: the %d calibration rows of %s are not the %d that the model was fitted to; the intervals are right if they come from the same law, and count them as %d", src.Cal.Len(), src.Path, total, total)
	return src.Cal, nil
}

// mapAlone takes the head as given.
func mapAlone(ctx context.Context, trained *layers.Trained, cal, test *data.Set, level float64) (lower, upper *mat.Dense, err error) {
	ridge, err := trained.Ridge()
	if err != nil {
		return nil, nil, noPenalty(err)
	}
	spread, err := trained.Sandwich(ctx, cal, ridge)
	if err != nil {
		return nil, nil, asUsage(err)
	}
	return trained.Intervals(ctx, spread, test, level)
}

// bothStages counts the error of the head too.
func bothStages(ctx context.Context, trained *layers.Trained, cal, test *data.Set, level float64) (lower, upper *mat.Dense, err error) {
	ridge, err := trained.Ridge()
	if err != nil {
		return nil, nil, noPenalty(err)
	}
	headRidge := 0.0
	if divide, ok := trained.Base.(*layers.Divide); ok { // TwoStage refuses the others
		if headRidge, err = divide.Ridge(); err != nil {
			return nil, nil, noPenalty(err)
		}
	}
	spread, err := trained.TwoStage(ctx, cal, ridge, headRidge)
	if err != nil {
		return nil, nil, asUsage(err)
	}
	return trained.TwoStageIntervals(ctx, spread, test, level)
}

// noPenalty says what to do about weight decay that no interval is known for.
func noPenalty(err error) error {
	if errors.Is(err, optim.ErrDecoupled) {
		err = fmt.Errorf("--intervals needs weight decay that is a penalty on the loss; fit with optim.rule adam, nadam or sgd, or with optim.decay=0 (%w)", err)
	}
	return usageError{err}
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"

	"calibra/data"
	"calibra/experiments/diagnosis"
	"calibra/experiments/method"
	"calibra/experiments/metrics"
	"calibra/experiments/run"
	"calibra/layers"
	"calibra/optim"

	"gonum.org/v1/gonum/mat"
)

// intervals are the bounds of each posterior of the test rows (arrays lower and upper, N×C), from the calibration rows
// in the same file; bounds_trusted (C) is 0 of classes whose bounds are not to be trusted. The model's inputs, and the
// run that it is of, determine which of these rows it was fitted to.
func (c *applyCmd) intervals(ctx context.Context, t *terminal, m saved, src *data.Source) ([]data.Array, error) {
	model := m.model.(layers.Bounded)
	if err := src.Require("cal_features", "cal_labels"); err != nil {
		return nil, err
	}
	cal, err := fittedRows(t, model, m.file.Profile, filepath.Dir(modelFile(c.Model)), src)
	if err != nil {
		return nil, err
	}
	bounds := model.Bounds
	if c.TwoStage {
		bounds = model.(layers.BoundedInStages).BoundsOfStages
	}
	lower, upper, err := bounds(ctx, cal, src.Test, *c.Intervals)
	if errors.Is(err, optim.ErrDecoupled) {
		err = fmt.Errorf("--intervals needs weight decay that is a penalty on the loss; fit with optim.rule adam, nadam or sgd, or with optim.decay=0 (%w)", err)
	}
	if err != nil {
		return nil, asUsage(err)
	}
	tellWidth(t, lower, upper, m.model.(layers.Bounded))
	trust := layers.Trusted(cal, model.Sizes())
	tellTrust(t, trust, m.file.Names.Classes)
	return []data.Array{{Name: "lower", Value: lower}, {Name: "upper", Value: upper}, {Name: "bounds_trusted", Value: trust}}, nil
}

// tellTrust warns of classes whose intervals are not to be trusted.
func tellTrust(t *terminal, trust []float64, names []string) {
	var rare []string
	for c, ok := range trust {
		if name := data.Numerals(c + 1)[c]; ok == 0 {
			if names != nil {
				name = names[c]
			}
			rare = append(rare, data.Line(name))
		}
	}
	if rare != nil {
		t.warn("bounds_trusted", "warning: the intervals of %s are not to be trusted (bounds_trusted is 0): fewer than about %d calibration rows are of the class, or of the others, and the normal law needs more; bring more of these rows",
			strings.Join(rare, ", "), layers.FewestEvents)
	}
}

// tellWidth warns of intervals that say next to nothing, as those of more weights than the rows determine are.
func tellWidth(t *terminal, lower, upper *mat.Dense, model layers.Bounded) {
	const useless = .5 // half of all that a probability may be
	var width mat.Dense
	width.Sub(upper, lower)
	rows, classes := width.Dims()
	if mean := mat.Sum(&width) / float64(rows*classes); mean > useless {
		t.warn("wide_intervals", "warning: the intervals are %.2f wide on average, too wide to be of use: %d calibration rows do not determine the weights of this model. Fit fewer (codebook.codewords, codebook.slots), hold them by weight decay (--set optim.decay=…), or bring more rows.", mean, model.Sizes().Rows())
	}
}

// fittedRows are the calibration rows of src that the model was fitted to: all of them, or
// those that the run's split left. Where it is neither, a warning states it; all of them then
// stand for as many as were fitted.
func fittedRows(t *terminal, model layers.Bounded, profile *layers.Profile, dir string, src *data.Source) (*data.Set, error) {
	sizes := model.Sizes()
	counts := sizes.Counts
	if n := len(counts); src.Cal.Logits != nil && src.Cal.Classes() != n {
		return nil, data.Inputf(src.Path, "cal_logits has %d columns and the model was fitted on %d classes; the intervals need the calibration rows of the fit", src.Cal.Classes(), n)
	} else if src.Cal.Soft != nil {
		return nil, data.Inputf(src.Path, "cal_labels holds probabilities of classes and the intervals need one class of each calibration row; hand over the classes")
	} else if i := data.InvalidLabel(src.Cal.Labels, n); i >= 0 {
		return nil, data.Inputf(src.Path, "cal_labels holds %d at row %d and the model was fitted on %d classes; the intervals need the calibration rows of the fit", src.Cal.Labels[i], i, n)
	}
	cal := src.Cal.ForFit()
	fitted := func(rows *data.Set) bool {
		have := rows.Counts(len(counts))
		return slices.Equal(have, counts) && profile.Of(rows)
	}
	if fitted(cal) {
		return cal, nil
	}
	spec, err := run.ReadSpec(dir)
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
	t.warn("other_rows", "warning: the %d calibration rows of %s are not the %d that the model was fitted to; the intervals are right if they come from the same law, and count them as %d", cal.Len(), src.Path, total, total)
	return cal, nil
}

// sets are the prediction sets of the test rows: arrays sets and sets_marginal (N×C, 1 where the class is in the set),
// sets_region (N) and sets_level (1). Regions need features; without, all rows are one. Their scores come from the val
// rows of the file or, where it has none, from its cal rows, which the model may have seen; then there is a warning.
func sets(t *terminal, model layers.Stateful, method method.Method, src *data.Source, p *data.Predictions, level float64) ([]data.Array, error) {
	rows, part := src.Val, "val"
	if rows == nil {
		rows, part = src.Cal, "cal"
	}
	needs := append([]string{part + "_labels"}, data.Each(method.Needs, func(key string) string { return part + "_" + key })...)
	if err := src.Require(needs...); err != nil {
		return nil, err
	}
	if part == "cal" {
		t.warn("sets", "warning: the scores of the prediction sets come from the cal rows; if the model was fitted to them, the sets cover less than they say: put labelled rows that it has not seen into val_features, val_logits, val_labels")
	}
	said, err := run.Predict(model, rows)
	if err != nil {
		return nil, data.Inputf(src.Path, "%w", err)
	}
	c, z, err := conformal(rows, src.Test, said, level)
	if err != nil {
		return nil, err
	}
	regional, marginal, region := c.Sets(p.LogProbs, z)
	return []data.Array{
		{Name: "sets", Value: regional}, {Name: "sets_marginal", Value: marginal},
		{Name: "sets_region", Value: region}, {Name: "sets_level", Value: []float64{level}},
	}, nil
}

// conformal makes the sets of test rows, which lie where z says: in one region where rows or test rows have no
// features.
func conformal(rows, test *data.Set, said *data.Predictions, level float64) (c *diagnosis.Conformal, z *mat.Dense, err error) {
	by := metrics.Settings{Rows: rows.Weights, Soft: rows.Soft}
	if rows.Features == nil || test.Features == nil {
		c, err = diagnosis.NewMarginal(said.LogProbs, rows.Labels, by, level)
		return c, nil, asUsage(err)
	}
	counted := rows.ForFit()
	embed, err := data.FitWeightedEmbedding(counted.Features, counted.Weights, 0)
	if err != nil {
		return nil, nil, err
	}
	c, err = diagnosis.NewConformal(said.LogProbs, rows.Labels, embed.Apply(rows.Features), by, level, rand.New(rand.NewPCG(0, 0)))
	return c, embed.Apply(test.Features), asUsage(err)
}

// coverage measures the prediction sets in the file of the predictions; nil if there are none.
func (j *judged) coverage() (*metrics.SetCoverage, error) {
	if j.described != nil { // no predictions, nor sets of them
		return nil, nil
	}
	has, err := data.HasArray(j.path, "sets")
	if err != nil || !has {
		return nil, err
	}
	bounds := make([]*mat.Dense, 2)
	for k, key := range []string{"sets", "sets_marginal"} {
		if bounds[k], err = data.ReadMatrix(j.path, key); err != nil {
			return nil, err
		}
	}
	region, err := data.ReadLabels(j.path, "sets_region")
	if err != nil {
		return nil, err
	}
	c, err := metrics.Covered(j.LogProbs, bounds[0], bounds[1], region, j.Labels, j.counting())
	if err != nil {
		return nil, data.Inputf(j.path, "%w", err)
	}
	return c, nil
}

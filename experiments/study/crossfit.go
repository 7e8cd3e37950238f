package study

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"calibra/data"
	"calibra/experiments/metrics"
	"calibra/experiments/run"
	"calibra/experiments/source"
	"calibra/graph/work"
	"calibra/layers"

	"gonum.org/v1/gonum/mat"
)

// divided is one labelled set in folds, which the cells of a seed share.
type divided struct {
	source *data.Source // its calibration rows are the set
	folds  []layers.Fold
	shared *mat.Dense // N×P, the rows in the embedding of them all; nil without features
}

// divide divides the set of the problem by the cell's seed.
func (c Cell) divide(problem *source.Problem) (d *divided, err error) {
	d = &divided{source: problem.Source}
	rows := d.source.Cal
	rng, folds := rand.New(rand.NewPCG(c.Spec.Seed, 8)), c.Spec.Judging.Folds
	if c.Spec.Judging.Within == run.WholeGroups {
		d.folds, err = layers.GroupFolds(rows, folds, rng)
	} else if err = layers.CheckFolds(folds, rows.Len()); err == nil {
		d.folds = layers.Folds(rows, folds, rng)
	}
	if err != nil || rows.Features == nil {
		return d, err
	}
	fitted := rows.ForFit()
	embed, err := data.FitWeightedEmbedding(fitted.Features, fitted.Weights, 0)
	if err == nil {
		d.shared = embed.Apply(rows.Features)
	}
	return d, err
}

// crossFitted judges predictions of all rows, each by a fit of the cell's method to the folds that do not hold it.
func (c Cell) crossFitted(ctx context.Context, w *workshop) (*Result, error) {
	d, err := prepare(ctx, w, c, c.divide)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	rows := d.source.Cal
	said, runs := &data.Predictions{LogProbs: mat.NewDense(rows.Len(), d.source.Classes, nil), Labels: rows.Labels, ClassNames: rows.Names.Classes}, make([]*run.Run, len(d.folds))
	said.Take(rows)
	if err := (work.Parts{What: "fold", N: len(d.folds)}).Do(ctx, func(ctx context.Context, k int) (err error) {
		runs[k], err = c.fitFold(ctx, d, d.folds[k], said.LogProbs)
		return err
	}); err != nil {
		return nil, err
	}
	fitted, err := c.Spec.JudgePredictions(ctx, said, d.shared, nil)
	if err != nil {
		return nil, err
	}
	source := *d.source
	source.Test, fitted.Source = rows, &source
	fitted.Spec = runs[0].Spec
	fitted.Spec.Judging = c.Spec.Judging
	for _, fold := range runs {
		fitted.Fit += fold.Fit
		fitted.Predict += fold.Predict
	}
	r, err := newResult(ctx, fitted)
	if err != nil {
		return nil, err
	}
	r.Rows = fitted.Outcome.Metrics.Counted
	if r.Rows == nil {
		r.Rows = data.UpTo(rows.Len())
	}
	if c.Spec.Judging.Within == run.WholeGroups {
		r.Groups = data.Each(r.Rows, func(i int) int { return rows.Groups.Of[i] })
	}
	r.Time = time.Since(start).Seconds()
	return r, nil
}

// fitFold writes the predictions of the rows that a fold holds out.
func (c Cell) fitFold(ctx context.Context, d *divided, f layers.Fold, said *mat.Dense) (*run.Run, error) {
	source, spec := *d.source, c.Spec
	source.Cal, source.Test = d.source.Cal.Rows(f.Fit), d.source.Cal.Rows(f.Held)
	source.Test.Labels, source.Test.Soft = nil, nil // they are judged together
	spec.Judging = run.Judging{}
	run, err := spec.Fit(ctx, &source, nil)
	if err != nil {
		return nil, err
	}
	if run.Outcome == nil {
		return nil, fmt.Errorf("the method %s predicts none of the rows", spec.Method)
	}
	for at, i := range f.Held {
		said.SetRow(i, run.Outcome.Predictions.LogProbs.RawRowView(at))
	}
	return run, nil
}

// CrossFitted says in a line what folds mean for intervals and p, "" where there are none.
func (f *Findings) CrossFitted() string {
	ties := metrics.Ties{Folds: f.Settings.Folds}
	if f.Settings.Within == run.WholeGroups {
		ties.Groups = []int{}
	}
	return ties.String()
}

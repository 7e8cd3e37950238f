package experiments

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"calibra/data"
	"calibra/experiments/metrics"
	"calibra/layers"
	"calibra/optim"

	"gonum.org/v1/gonum/mat"
)

// Outcome is a run's predictions for the test rows and how good they are.
type Outcome struct {
	Predictions *data.Predictions
	Shared      *mat.Dense     // N×P, test rows in the embedding shared by all methods; nil without features
	Own         *mat.Dense     // N×P, in the method's own space; nil if that is the shared embedding
	Truth       *metrics.Truth // nil unless the true posterior is known
	// Metrics are measured in Shared and OwnMetrics, whose local ones alone differ, in Own;
	// nil without it, and both nil where the test rows have no labels. Intervals, noise floors and strata are in them as far as the Spec's
	// Judging requests them.
	Metrics, OwnMetrics *metrics.Report
}

// Predict returns a model's predictions for rows, a distribution for each of them.
func Predict(model layers.Stateful, x *data.Set) (*data.Predictions, error) {
	p, err := model.Predict(x)
	if err != nil {
		return nil, err
	}
	if p == nil || p.LogProbs == nil {
		return nil, fmt.Errorf("the Predict of %T gives neither predictions nor an error", model)
	}
	if n, _ := p.LogProbs.Dims(); n != x.Len() {
		return nil, fmt.Errorf("the Predict of %T gives %d rows for %d", model, n, x.Len())
	}
	return p, nil
}

// Judged reports whether the run has metrics, for which its test rows need labels.
func (r *Run) Judged() bool { return r.Outcome != nil && r.Outcome.Metrics != nil }

// answer predicts the test rows and, where they have labels, measures the predictions, in the shared embedding
// and in the method's own.
func (r *Run) answer(ctx context.Context, p *Prepared) (err error) {
	cal, test := r.Source.Cal, r.Source.Test
	o, start := &Outcome{Shared: p.Shared}, time.Now()
	if o.Predictions, err = Predict(r.Model, test); err != nil {
		return fmt.Errorf("predict the test rows: %w", err)
	}
	r.Predict = time.Since(start)
	var embedded mat.Matrix // the test rows in features of the method's own; nil without
	if e, ok := r.Model.(layers.Embedder); ok {
		if embedded, err = e.Embed(test); err != nil {
			return err
		}
	}
	o.Predictions.Take(test)
	if p.Truth != nil {
		o.Truth = metrics.NewTruth(o.Predictions.LogProbs, p.Truth)
	}
	if coded, ok := embedded.(interface{ Usage() []int }); ok {
		r.Usage = coded.Usage()
	}
	if o.Shared != nil {
		if o.Own, err = ownSpace(r.Model, cal, test, embedded); err != nil {
			return err
		}
	}
	if test.Labels != nil {
		if err := r.judge(ctx, p, o); err != nil {
			return err
		}
	}
	r.Outcome = o
	return nil
}

// JudgePredictions measures predictions of labelled rows that a fit of the Spec gave before, in the embedding shared by all
// methods and in its own (N×P), each nil where there is none.
func (s Spec) JudgePredictions(ctx context.Context, said *data.Predictions, shared, own *mat.Dense) (*Run, error) {
	_, classes := said.LogProbs.Dims()
	test := &data.Set{Labels: said.Labels, Weights: said.Weights, Soft: said.Soft}
	r := &Run{Spec: s, Source: &data.Source{Classes: classes, Cal: &data.Set{Names: data.Names{Classes: said.ClassNames}}, Test: test}}
	r.Outcome = &Outcome{Predictions: said, Shared: shared, Own: own}
	return r, r.judge(ctx, &Prepared{}, r.Outcome)
}

// judge measures the predictions of an outcome.
func (r *Run) judge(ctx context.Context, p *Prepared, o *Outcome) error {
	measure, err := r.measurer(ctx, p, o.Predictions)
	if err != nil {
		return err
	}
	if o.Metrics, err = measure(o.Shared); err == nil && o.Own != nil {
		o.OwnMetrics, err = measure(o.Own)
	}
	return err
}

// measurer measures predictions of the test rows in an embedding, under the same draws in each.
func (r *Run) measurer(ctx context.Context, p *Prepared, said *data.Predictions) (measure func(embedding *mat.Dense) (*metrics.Report, error), err error) {
	test := r.Source.Test
	settings, err := r.Spec.Measuring()
	if err != nil {
		return nil, err
	}
	settings.Progress = func(done, total int) {
		optim.ReportProgress(ctx, fmt.Sprintf("pass over row %d of %d", done, total), float64(done)/float64(total))
	}
	settings.Rows, settings.Soft = test.Weights, test.Soft
	judging := r.Spec.Judging
	if judging.Redraws > 0 && p.strata != nil {
		settings.Strata = p.strata()
	}
	return func(embedding *mat.Dense) (*metrics.Report, error) {
		rng := rand.New(rand.NewPCG(r.Spec.Seed, 4))
		if judging.Replicates > 0 { // the same in every run
			rng = rand.New(rand.NewPCG(0, 5))
		}
		return metrics.MeasureWith(ctx, said.LogProbs, test.Labels, embedding, settings, judging.uncertainty(), rng)
	}, nil
}

// ownSpace gives the test rows (N×P), embedded if the method has features of its own, in the
// space where the published tables measure the method: a learned similarity as it is, or the
// principal components of these features, fitted on the calibration rows. It is nil for a method
// that has neither and is measured in the embedding shared by all.
func ownSpace(model layers.Calibrator, cal, test *data.Set, embedded mat.Matrix) (*mat.Dense, error) {
	if m, ok := model.(layers.Similar); ok {
		return m.Similarity(test)
	}
	m, ok := model.(layers.Embedder)
	if !ok || embedded == nil {
		return nil, nil
	}
	calOwn, err := m.Embed(cal)
	if err != nil || calOwn == nil {
		return nil, err
	}
	own, err := data.FitWeightedEmbedding(calOwn, cal.Weights, 0)
	if err != nil {
		return nil, err
	}
	return own.Apply(embedded), nil
}

package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"calibra/data"
	"calibra/experiments/method"
	"calibra/experiments/metrics"
	"calibra/experiments/rowcheck"
	"calibra/experiments/source"
	"calibra/graph/work"
	"calibra/layers"
	"calibra/layers/anchored"
	"calibra/optim"

	"gonum.org/v1/gonum/mat"
)

// Run is a fitted method with its predictions for the test rows.
type Run struct {
	Spec    Spec
	Model   layers.Stateful
	Keys    []method.Key    // the settings that the model was built with
	Source  *data.Source    // after the split
	Fit     time.Duration   // wall time of the fit
	Predict time.Duration   // wall time of the test rows' predictions
	Outcome *Outcome        // nil without test rows of what the method reads
	Stages  []layers.Stage  // how each stage of the fit ended
	Probe   []layers.Stage  // those of the first fit, which found the number of epochs; nil without
	Usage   []int           // codeword assignments of the test slots, nil if undivided
	Embed   *data.Embedding // the shared embedding, nil without features
	HeldOut float64         // see [Judging.HeldOut]; 0 where it was not asked for
	// Beside holds the findings of the caller about the test rows beside the calibration rows.
	Beside rowcheck.Findings
}

// Fit splits the source, fits the method and measures it on the test rows. Split
// and fit draw from one generator seeded with the Spec's seed.
//
// If ctx is cancelled during the fit, the run is returned beside the error, with
// the model as far as it was learned and no outcome; nil is returned if that was not
// begun.
func (s Spec) Fit(ctx context.Context, src *data.Source, observe method.Observer) (*Run, error) {
	if _, err := s.method(src); err != nil {
		return nil, err
	}
	p, err := s.Prepare(&source.Problem{Source: src})
	if err != nil {
		return nil, err
	}
	return s.FitPrepared(ctx, p, observe)
}

// FitPrepared is Fit on a problem that is split already.
func (s Spec) FitPrepared(ctx context.Context, p *Prepared, observe method.Observer) (*Run, error) {
	method, err := s.method(p.Source)
	if err != nil {
		return nil, err
	}
	costs := s.costs(method, source.SizeOf(p.Source))
	if p, err = p.partFor(s); err != nil {
		return nil, err
	}
	r := &Run{Spec: s, Source: p.Source, Embed: p.Embed}
	within := func(what string, part int) context.Context { return work.Piece(ctx, what, part, costs[:]...) }
	start := time.Now()
	if s.Judging.HeldOut {
		if r.HeldOut, err = s.heldOut(within("fit to four fifths of the rows", holding), method, r.Source.Cal); err != nil {
			return nil, fmt.Errorf("fit %s to four fifths of the rows: %w", s.Method, err)
		}
	}
	rng := rand.New(&p.afterSplit)
	if err := r.build(within("find the number of epochs", probing), s, method, observe, rng); err != nil {
		return nil, err
	}
	err = r.Model.Fit(within("fit "+s.Method, fitting), r.Source.Cal, r.Source.Val, rng)
	r.Fit = time.Since(start)
	if err != nil {
		if errors.Is(err, ctx.Err()) {
			return r, err
		}
		return nil, fmt.Errorf("fit %s: %w", s.Method, err)
	}
	if t, ok := r.Model.(layers.Staged); ok {
		r.Stages = append(r.Stages, t.Stages()...)
	}
	if answers(r.Source, method) {
		if err := r.answer(within("measure", measuring), p); err != nil {
			return r, err
		}
	}
	return r, nil
}

// heldOut is the mean NLL on a stratified fifth of the calibration rows after a fit of the method to the others, of
// which one that stops early stops by a tenth.
func (s Spec) heldOut(ctx context.Context, method method.Method, cal *data.Set) (float64, error) {
	parts := cal.Stratify([]float64{0.72, 0.08, 0.2}, rand.New(rand.NewPCG(s.Seed, 6)))
	var stop *data.Set // nil of a method that does not
	if method.StopsEarly {
		stop = cal.Rows(parts[1])
	} else {
		parts[0] = slices.Sorted(slices.Values(slices.Concat(parts[0], parts[1])))
	}
	fitted := cal.Rows(parts[0])
	options, err := s.options(fitted, nil)
	if err != nil {
		return 0, err
	}
	model, _, err := method.Build(options)
	if err != nil {
		return 0, err
	}
	if err := model.Fit(ctx, fitted, stop, rand.New(rand.NewPCG(s.Seed, 100))); err != nil {
		return 0, err
	}
	return layers.HeldOutLoss(model, cal.Rows(parts[2]))
}

// answers reports whether there are test rows of what the method reads.
func answers(src *data.Source, method method.Method) bool {
	return src.Test != nil && src.Require(data.Each(method.Needs, func(key string) string { return "test_" + key })...) == nil
}

// build builds the method with the settings of s; of one that stops early it finds the number of
// epochs first, where there are no validation rows.
func (r *Run) build(ctx context.Context, s Spec, method method.Method, observe method.Observer, rng *rand.Rand) error {
	options, err := s.options(r.Source.Cal, observe)
	if err != nil {
		return err
	}
	if method.StopsEarly && r.Source.Val == nil {
		if options.Epochs, r.Probe, err = s.epochs(ctx, method, options, r.Source.Cal, rng); err != nil {
			return err
		}
	}
	r.Model, r.Keys, err = method.Build(options)
	r.Spec = r.Spec.Resolve(r.Keys)
	return err
}

// The parts of a run.
const (
	holding = iota
	probing
	fitting
	measuring
	runParts
)

// costs are about what the parts of the Spec's run on data of that size take, in seconds of one core; 0 of those that
// it has not.
func (s Spec) costs(method method.Method, size source.Size) (costs [runParts]float64) {
	rows, tested := float64(size.Rows), float64(size.Tested)
	if s.Fraction > 0 {
		rows *= s.Fraction
	}
	fit := method.Cost.Of(rows, size.Features, size.Classes)
	costs[fitting] = fit
	if s.Judging.HeldOut {
		costs[holding] = 0.8 * fit
	}
	if method.StopsEarly && s.Split == data.NoValidation {
		costs[probing] = 0.9 * fit
	}
	judged, j := tested, s.Judging
	if j.Anchors > 0 {
		judged = min(tested, float64(j.Anchors))
	}
	// What pairs of rows take in the local metrics, with their floors, and rows in replicates.
	classes := float64(size.Classes)
	costs[measuring] = (2.5e-9+8e-10*float64(j.Redraws))*(1+classes/40)*judged*tested + (3e-7+3e-8*classes)*tested*float64(j.Replicates)
	if method.Divides() { // in its own embedding too
		costs[measuring] *= 2
	}
	if j.Locality {
		costs[measuring] *= float64(1 + len(Bandwidths))
	}
	return costs
}

// Expected is about how many seconds the Spec's run on data of that size takes on one core, by the cost of its method.
func (s Spec) Expected(size source.Size) (seconds float64) {
	if method, err := s.Catalog.Find(s.Method); err == nil {
		for _, c := range s.costs(method, size) {
			seconds += c
		}
	}
	return seconds
}

// method finds the Spec's method and what it needs in src: in the calibration rows, in
// validation rows that it will stop by, and in test rows that it will be judged on.
func (s Spec) method(src *data.Source) (method.Method, error) {
	m, err := s.Catalog.Find(s.Method)
	if err != nil {
		return method.Method{}, err
	}
	if err := src.Require(m.Reads(src, s.Split)...); err != nil {
		return m, err
	}
	return m, m.Suits(src)
}

// epochs finds how long each stage should train when all calibration rows are to be
// fitted: a first fit on nine tenths of them stops early on the last.
func (s Spec) epochs(ctx context.Context, m method.Method, options method.Options, cal *data.Set, rng *rand.Rand) (map[string]int, []layers.Stage, error) {
	fit, judge := layers.Probe(cal, rng)
	options.Values = options.Values.With(method.Values{method.MembersKey: "1"}) // all members train as long as the first
	if observe := options.Observe; observe != nil {
		options.Observe = func(stage string) func(optim.Epoch) { return observe(probePrefix + stage) }
	}
	probe, _, err := m.Build(options)
	if err != nil {
		return nil, nil, err
	}
	if err := probe.Fit(ctx, fit, judge, rng); err != nil {
		return nil, nil, fmt.Errorf("find the number of epochs of %s: %w", s.Method, err)
	}
	var stages []layers.Stage
	if staged, ok := probe.(layers.Staged); ok {
		stages = staged.Stages()
	}
	return layers.BestEpochs(probe), stages, nil
}

// Outcome is a run's predictions for the test rows and how good they are.
type Outcome struct {
	Predictions *data.Predictions
	Shared      *mat.Dense     // N×P, test rows in the embedding shared by all methods; nil without features
	Own         *mat.Dense     // N×P, in the method's own space; nil if that is the shared embedding
	Truth       *metrics.Truth // nil unless the true posterior is known
	// Metrics are measured in Shared and OwnMetrics, whose local ones alone differ, in Own; nil without it, and both
	// nil where the test rows have no labels. Intervals, noise floors and strata are in them as far as the Spec's
	// Judging requests them.
	Metrics, OwnMetrics *metrics.Report
	Locality            *Locality // nil unless the Spec's Judging asks for it
}

// Predict returns a model's predictions for rows, a distribution for each of them.
func Predict(model layers.Stateful, x *data.Set) (*data.Predictions, error) {
	p, err := model.Predict(x)
	if err != nil {
		return nil, err
	}
	if p == nil || p.LogProbs == nil {
		return nil, fmt.Errorf("the Predict of %s gives neither predictions nor an error", layers.NameOf(model))
	}
	if n, _ := p.LogProbs.Dims(); n != x.Len() {
		return nil, fmt.Errorf("the Predict of %s gives %d rows for %d", layers.NameOf(model), n, x.Len())
	}
	return p, nil
}

// Kept says that a model of the method keeps the classifier, as it is or at a temperature, or how many of its members
// do, and gives the held-out losses of the first one; "" if none does.
func (r *Run) Kept() string {
	members, kept, how := layers.MembersOf(r.Model), 0, ""
	for _, m := range members {
		mixer, ok := m.(anchored.Mixer)
		if !ok {
			return ""
		}
		if t, own, keeps := mixer.Kept(); keeps {
			if kept++; how == "" {
				if how = "as it is"; t != 1 {
					how = fmt.Sprintf("at temperature %.3f", t)
				}
				nll, _ := mixer.Loss()
				how += fmt.Sprintf(": on held-out rows its NLL is %.4f, that of the correction %.4f", own, nll)
			}
		}
	}
	switch kept {
	case 0:
		return ""
	case len(members):
		return fmt.Sprintf("%s keeps the classifier %s", r.Spec.Method, how)
	}
	return fmt.Sprintf("%d of %d members of %s keep the classifier, the first %s", kept, len(members), r.Spec.Method, how)
}

// Undivided says that the codes divide nothing: nearly all slots of the test rows have one of several codewords. ""
// where they divide.
func (r *Run) Undivided() string {
	const most, percent = 0.99, 100
	slots, first := 0, 0
	for _, n := range r.Usage {
		slots, first = slots+n, max(first, n)
	}
	if len(r.Usage) < 2 || float64(first) <= most*float64(slots) {
		return ""
	}
	return fmt.Sprintf("the codes divide nothing: %.1f %% of the test slots have one of %d codewords; choose other codebook.slots, codebook.codewords or codes", percent*float64(first)/float64(slots), len(r.Usage))
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
		if r.Spec.Judging.Locality && o.Shared != nil {
			if o.Locality, err = r.locality(ctx, p, o, embedded); err != nil {
				return err
			}
		}
	}
	r.Outcome = o
	return nil
}

// JudgePredictions measures predictions of labelled rows that a fit of the Spec gave before, in the embedding shared by
// all methods and in its own (N×P), each nil where there is none.
func (s Spec) JudgePredictions(ctx context.Context, said *data.Predictions, shared, own *mat.Dense) (*Run, error) {
	_, classes := said.LogProbs.Dims()
	test := &data.Set{Labels: said.Labels, Weights: said.Weights, TestWeights: said.TestWeights, Soft: said.Soft}
	r := &Run{Spec: s, Source: &data.Source{Classes: classes, Cal: &data.Set{Names: data.Names{Classes: said.ClassNames}}, Test: test}}
	r.Outcome = &Outcome{Predictions: said, Shared: shared, Own: own}
	return r, r.judge(ctx, &Prepared{}, r.Outcome)
}

// CountTogether gives predictions of the same rows one set of weights by which tests count these, so that they are
// compared row by row: copies are equal in all predictions and in the embedding, which may be nil.
func CountTogether(all []*data.Predictions, embedding *mat.Dense) {
	first := all[0]
	said := mat.DenseCopyOf(first.LogProbs)
	if embedding != nil {
		said = beside(embedding, said)
	}
	for _, p := range all[1:] {
		said = beside(said, p.LogProbs)
	}
	counts, _ := rowcheck.CountCopies(&data.Set{Features: said, Logits: first.LogProbs, Labels: first.Labels, Soft: first.Soft, Weights: first.Weights, Groups: first.Groups})
	for _, p := range all {
		p.TestWeights = counts
	}
}

// beside is the matrix of the columns of both.
func beside(a, b *mat.Dense) *mat.Dense {
	out := &mat.Dense{}
	out.Augment(a, b)
	return out
}

// judge measures the predictions of an outcome.
func (r *Run) judge(ctx context.Context, p *Prepared, o *Outcome) error {
	measure, err := r.measurer(ctx, p, o.Predictions)
	if err != nil {
		return err
	}
	if o.Metrics, err = measure(o.Shared, 0); err == nil && o.Own != nil {
		o.OwnMetrics, err = measure(o.Own, 0)
	}
	return err
}

// measurer measures predictions of the test rows in an embedding at a bandwidth, 0 for the one of the Spec, under the
// same draws in each.
func (r *Run) measurer(ctx context.Context, p *Prepared, said *data.Predictions) (
	measure func(embedding *mat.Dense, bandwidth float64) (*metrics.Report, error), err error) {
	test := r.Source.Test
	settings, err := r.Spec.Measuring()
	if err != nil {
		return nil, err
	}
	settings.Rows, settings.Soft = said.Counting(), test.Soft
	judging := r.Spec.Judging
	if judging.Redraws > 0 && p.strata != nil {
		settings.Strata = p.strata()
	}
	return func(embedding *mat.Dense, bandwidth float64) (*metrics.Report, error) {
		settings := settings
		settings.Bandwidth = cmp.Or(bandwidth, settings.Bandwidth)
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

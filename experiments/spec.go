package experiments

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"calibra/data"
	"calibra/experiments/metrics"
	"calibra/experiments/rowcheck"
	"calibra/graph"
	"calibra/layers"
	"calibra/optim"
)

// Spec describes one run completely: the same Spec on the same data gives the same
// bytes.
type Spec struct {
	Method  string
	Data    string // where the features came from
	Split   data.Holdout
	Seed    uint64
	Encoder string // of the Encoders, where the data are raw
	// Fraction of the calibration rows that is fitted on, stratified; 0 means all.
	Fraction float64
	// Shift judges on shifted rows in place of the test rows; fit and validation rows
	// stay in distribution. "" is no shift.
	Shift Shift
	// Tune chooses among the method's candidates on held-out calibration rows before the fit;
	// Set is then the first.
	Tune bool
	// Set holds the settings of the method, "codebook.slots=32 optim.rate=3e-4"; what it does
	// not name has its default.
	Set string
	// Judging is what the run is judged by besides the values of the metrics.
	Judging Judging
	// Catalog is where Method is looked up; nil means Methods.
	Catalog *Catalog
	// Executor is where fits and kernel sums run; nil means in this process.
	Executor Executor
}

// Judging is what runs are judged by besides the values of the metrics, and on which rows.
// Its zero value is nothing, on the rows of the Spec's own split.
type Judging struct {
	// Split is what the problem is prepared by, for Specs whose own differ: so the shared
	// embedding is one for all. "" is the Spec's own.
	Split data.Holdout `json:"split,omitempty"`
	// Replicates is the number of bootstrap replicates behind intervals, of the same resamples
	// in every run, which makes replicates of two runs pairs; 0 for none.
	Replicates int `json:"replicates,omitempty"`
	// Redraws is the number of label redraws behind noise floors, of strata by density too; 0
	// for none.
	Redraws int `json:"redraws,omitempty"`
	// Anchors is at how many of the test rows the local metrics are measured, where there are
	// more; 0 means at all.
	Anchors int `json:"anchors,omitempty"`
}

// uncertainty is what the metrics are asked for.
func (j Judging) uncertainty() metrics.Uncertainty {
	orNone := func(n int) int {
		if n == 0 {
			return metrics.None
		}
		return n
	}
	return metrics.Uncertainty{Replicates: orNone(j.Replicates), Redraws: orNone(j.Redraws)}
}

// Judged is the split that the Spec's problem is prepared by.
func (s Spec) Judged() data.Holdout { return cmp.Or(s.Judging.Split, s.Split) }

// Executor runs fits and the kernel sums of measurements.
type Executor interface {
	graph.Executor
	metrics.Executor
}

// defaultSlots is the w that M features are cut into by default: the largest
// divisor of M up to 64, the paper's w.
func defaultSlots(features int) int {
	slots := 64
	for features%slots != 0 {
		slots--
	}
	return slots
}

// Use adds the settings v of the method to those of Set. One that Set has with another value
// is a *data.InputError.
func (s *Spec) Use(v Values) error {
	set := s.values()
	for _, key := range v.Names() {
		if text, there := set[key]; there && text != v[key] {
			return data.Inputf("", "%s is set to %s and to %s; set it once", key, v[key], text)
		}
	}
	s.Set = set.With(v).String()
	return nil
}

// Possible reports whether the method has all settings of Set.
func (s Spec) Possible() bool {
	m, err := s.Catalog.Find(s.Method)
	if err != nil {
		return false
	}
	o, err := s.options(nil, nil)
	if err == nil {
		_, _, err = m.Build(o)
	}
	return err == nil
}

// With is the Spec with settings in place of its own.
func (s Spec) With(v Values) Spec {
	s.Set = s.values().With(v).String()
	return s
}

// Measuring is what the run is measured with.
func (s Spec) Measuring() (metrics.Settings, error) {
	o := Options{Values: s.values()}
	m := o.measuring()
	m.Executor, m.Own = s.Executor, s.Catalog.Metrics()
	if s.Judging.Anchors > 0 {
		m.Anchors = s.Judging.Anchors
	}
	return m, o.err
}

// Resolve writes down the sizes of the codebook that the Spec leaves open, of the settings
// that its method was built with.
func (s Spec) Resolve(keys []Key) Spec {
	sizes := Values{}
	for _, k := range keys {
		if _, words := k.Value.(string); words && k.Name != startKey {
			continue // depends on data that are not there
		}
		if k.Name == slotsKey || k.Name == codewordsKey || k.Name == startKey {
			sizes[k.Name] = fmt.Sprint(k.Value)
		}
	}
	return s.With(sizes)
}

// options are what the method is built with for these rows.
func (s Spec) options(cal *data.Set, observe Observer) (Options, error) {
	o := Options{Catalog: s.Catalog, Observe: observe, Executor: s.Executor}
	if cal != nil && cal.Features != nil {
		_, o.Features = cal.Features.Dims()
	}
	var err error
	o.Values, err = ParseValues(s.Set)
	return o, err
}

// Run is a fitted method with its predictions for the test rows.
type Run struct {
	Spec    Spec
	Model   layers.Stateful
	Keys    []Key           // the settings that the model was built with
	Source  *data.Source    // after the split
	Fit     time.Duration   // wall time of the fit, of the tuning too
	Predict time.Duration   // wall time of the test rows' predictions
	Outcome *Outcome        // nil without test rows of what the method reads
	Stages  []layers.Stage  // how each stage of the fit ended
	Probe   []layers.Stage  // those of the first fit, which found the number of epochs; nil without
	Usage   []int           // codeword assignments of the test slots, nil if undivided
	Embed   *data.Embedding // the shared embedding, nil without features
	// Beside is what whoever fitted found of the test rows beside the calibration rows.
	Beside rowcheck.Findings
}

// Fit splits the source, fits the method and measures it on the test rows. Split
// and fit draw from one generator seeded with the Spec's seed.
//
// If ctx is cancelled during the fit, the run is returned beside the error, with
// the model as far as it was learned and no outcome; nil is returned if that was not
// begun.
func (s Spec) Fit(ctx context.Context, src *data.Source, observe Observer) (*Run, error) {
	if _, err := s.method(src); err != nil {
		return nil, err
	}
	p, err := s.Prepare(&Problem{Source: src})
	if err != nil {
		return nil, err
	}
	return s.FitPrepared(ctx, p, observe)
}

// FitPrepared is Fit on a problem that is split already.
func (s Spec) FitPrepared(ctx context.Context, p *Prepared, observe Observer) (*Run, error) {
	method, err := s.method(p.Source)
	if err != nil {
		return nil, err
	}
	if p, err = p.partFor(s); err != nil {
		return nil, err
	}
	r := &Run{Spec: s, Source: p.Source, Embed: p.Embed}
	costs := s.costs(method, p.Source)
	within := func(what string, part int) context.Context { return optim.Piece(ctx, what, part, costs[:]...) }
	start := time.Now()
	if s.Tune {
		var failed string
		if s, failed, err = s.tune(within("choose the settings", tuning), method, r.Source.Cal); err != nil {
			return nil, err
		}
		if failed != "" {
			r.Stages = []layers.Stage{{Name: "choose", Result: optim.Result{Ended: failed}, Time: time.Since(start)}}
		}
		r.Spec = s
		r.Spec.Tune = true
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

// answers reports whether there are test rows of what the method reads.
func answers(src *data.Source, method Method) bool {
	return src.Test != nil && src.Require(data.Each(method.Needs, func(key string) string { return "test_" + key })...) == nil
}

// build builds the method with the settings of s; of one that stops early it finds the number of
// epochs first, where there are no validation rows.
func (r *Run) build(ctx context.Context, s Spec, method Method, observe Observer, rng *rand.Rand) error {
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
	tuning = iota
	probing
	fitting
	measuring
	runParts
)

// costs are about what the parts of the Spec's run on src take, in seconds of one core; 0 of those that it has not.
func (s Spec) costs(method Method, src *data.Source) (costs [runParts]float64) {
	features := 0
	if x := src.Cal.Features; x != nil {
		_, features = x.Dims()
	}
	fit := method.Cost.Of(float64(src.Cal.Len()), features, src.Classes)
	costs[fitting] = fit
	if s.Tune {
		costs[tuning] = 0.8 * fit * float64(len(method.Candidates))
	}
	if method.StopsEarly && src.Val == nil {
		costs[probing] = 0.9 * fit
	}
	if src.Test != nil && src.Test.Labels != nil {
		const pair = 4e-8 // seconds of a pair of rows in a local metric
		n := float64(src.Test.Len())
		costs[measuring] = pair * n * n
	}
	return costs
}

// Expected is about how many seconds the Spec's run on src takes on one core, by the cost of its method.
func (s Spec) Expected(src *data.Source) (seconds float64) {
	if method, err := s.Catalog.Find(s.Method); err == nil && src.Cal != nil {
		for _, c := range s.costs(method, src) {
			seconds += c
		}
	}
	return seconds
}

// Judge is FitPrepared with a model that was fitted before, on the same rows.
func (s Spec) Judge(ctx context.Context, p *Prepared, model layers.Stateful) (*Run, error) {
	p, err := p.partFor(s)
	if err != nil {
		return nil, err
	}
	r := &Run{Spec: s, Source: p.Source, Embed: p.Embed, Model: model}
	return r, r.answer(ctx, p)
}

// method finds the Spec's method and what it needs in src: in the calibration rows, in
// validation rows that it will stop by, and in test rows that it will be judged on.
func (s Spec) method(src *data.Source) (Method, error) {
	method, err := s.Catalog.Find(s.Method)
	if err != nil {
		return Method{}, err
	}
	parts := []string{"cal"}
	if src.Val != nil && s.Split != data.NoValidation && method.StopsEarly {
		parts = append(parts, "val")
	}
	if src.Test != nil && src.Test.Labels != nil {
		parts = append(parts, "test")
	}
	var needs []string
	for _, part := range parts {
		needs = append(needs, part+"_labels")
		for _, key := range method.Needs {
			needs = append(needs, part+"_"+key)
		}
	}
	if err := src.Require(needs...); err != nil {
		return method, err
	}
	return method, method.Suits(src)
}

// epochs finds how long each stage should train when all calibration rows are to be
// fitted: a first fit on nine tenths of them stops early on the last.
func (s Spec) epochs(ctx context.Context, method Method, options Options, cal *data.Set, rng *rand.Rand) (map[string]int, []layers.Stage, error) {
	fit, judge := layers.Probe(cal, rng)
	options.Values = options.Values.With(Values{membersKey: "1"}) // all members train as long as the first
	if observe := options.Observe; observe != nil {
		options.Observe = func(stage string) func(optim.Epoch) { return observe(probePrefix + stage) }
	}
	probe, _, err := method.Build(options)
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

package metrics

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"calibra/experiments/internal/checked"
	"calibra/graph/work"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Uncertainty is how the uncertainty of metrics is found. Its zero value is the default.
type Uncertainty struct {
	Replicates int // bootstrap replicates; 0 means 200, None leaves the intervals out
	Redraws    int // redraws of the labels from the predictions; 0 means 50, None leaves the noise floor out
}

// None is the number of replicates or redraws that leaves them out.
const None = -1

const (
	defaultReplicates = 200
	defaultRedraws    = 50
)

// FewestReplicates is how many replicates have quantiles of 2.5 %.
const FewestReplicates = 40

func (u Uncertainty) filled() (Uncertainty, error) {
	switch {
	case u.Replicates < None || 0 < u.Replicates && u.Replicates < FewestReplicates:
		return u, fmt.Errorf("metrics: %d bootstrap replicates: want %d or more, or None", u.Replicates, FewestReplicates)
	case u.Redraws < None:
		return u, fmt.Errorf("metrics: %d redraws: want a positive number, or None", u.Redraws)
	}
	return Uncertainty{max(0, cmp.Or(u.Replicates, defaultReplicates)), max(0, cmp.Or(u.Redraws, defaultRedraws))}, nil // None is below 0
}

// Report is a measurement with its uncertainty.
type Report struct {
	Measurement
	Settings    Settings // with the defaults written out
	Uncertainty Uncertainty
	// Intervals are 95 % intervals, NaN where there is none: of accuracy, NLL and Brier score of their values in many
	// rows, of the errors of their mean over samples of as many rows.
	Intervals [Metrics]Interval
	// Many are 95 % intervals of what many rows would show of ECE, TopECE, ECCE and LCE, whose floors few rows add; NaN
	// of others.
	Many [Metrics]Interval
	// Replicates are the bootstrap's, nil without it. Those of two predictions of the same
	// rows with the same seed are pairs: the k-th has the same resample in both.
	Replicates [Metrics][]float64
	// Without are LCE and MLCE without each of up to 40 random parts of the rows in turn,
	// the same parts as far as Replicates are pairs; nil without them or an embedding.
	Without [Metrics][]float64
	Noise   [Metrics]*Noise // nil where there is none
	Strata  []Stratum       // of [Settings.Strata], nil without them or an embedding
	// SmoothECE is the smooth calibration error of the top class (Błasiok and Nakkiran 2023), without bins and with a
	// bandwidth that it chooses itself. NaN where it was not asked for, or rows are measured in parts.
	SmoothECE      float64
	SmoothInterval Interval // 95 % bootstrap, NaN without
	SmoothNoise    *Noise   // nil without redraws
	// Recovered is Recover's result for the same predictions, in the embedding; nil where it was not requested.
	Recovered *Recovered
	Besides
	Told
}

// Besides is what is found besides the metrics.
type Besides struct {
	Sets             *SetCoverage      `json:"sets,omitempty"`             // of prediction sets that came with the predictions; nil without them
	ByClass          []Part            `json:"classes_by_name,omitempty"`  // of classes with names; nil without
	ByGroup          []Part            `json:"groups,omitempty"`           // of rows with groups; nil without
	Multicalibration *Multicalibration `json:"multicalibration,omitempty"` // of rows with groups; nil without
	LikelihoodRatio  *LikelihoodRatio  `json:"likelihood_ratio,omitempty"` // nil where there are too few rows, or too many classes
	Decomposition    *Decomposition    `json:"decomposition,omitempty"`    // of Evaluate; nil otherwise
}

// Told is what the caller sets; nil without.
type Told struct {
	Verdict any `json:"verdict,omitempty"` // what to do with the predictions
	Failed  any `json:"failed,omitempty"`  // the files that are left out
	Copies  any `json:"copies,omitempty"`  // the rows that are left out as they repeat others, whose weights they add to
}

// Measured is a metric as it was measured.
type Measured struct {
	Key, Title string
	Value      float64
	Interval   Interval // NaN where there is none
	Many       Interval // of the value of many rows, less the floor; NaN where Interval is that, or there is none
	Noise      *Noise   // nil likewise
}

// Measured are the metrics that could be measured, those from outside last.
func (r *Report) Measured() (all []Measured) {
	for m := range Metrics {
		all = append(all, Measured{Key: m.String(), Title: m.Title(), Value: r.Values[m], Interval: r.Intervals[m], Many: r.Many[m], Noise: r.Noise[m]})
	}
	for _, o := range r.Own {
		all = append(all, Measured{Key: o.Key, Title: o.Head(), Value: o.Value, Interval: o.Interval, Many: noInterval, Noise: o.Noise})
	}
	return slices.DeleteFunc(all, func(m Measured) bool { return math.IsNaN(m.Value) })
}

// Evaluate computes every metric with a 95 % bootstrap interval over the rows and
// the noise floor of labels redrawn from the predictions, the smooth calibration error and the decomposition. The
// arguments before u and the values are the same as for Measure.
func Evaluate(ctx context.Context, logProbs *mat.Dense, labels []int, embedding mat.Matrix, s Settings, u Uncertainty, rng *rand.Rand) (*Report, error) {
	b, z, err := prepare(logProbs, labels, embedding, s)
	if err != nil {
		return nil, err
	}
	r, x, err := b.uncertain(ctx, z, u, rng)
	if err != nil {
		return nil, err
	}
	ctx = b.step(ctx, z, scoring)
	if r.Decomposition, err = b.decompose(ctx, r, x); err != nil {
		return r, err
	}
	return r, b.smooth(ctx, x, r)
}

// MeasureWith is Measure with the uncertainty of every metric, and the noise floor of every
// stratum: Evaluate without the smooth calibration error and the decomposition.
func MeasureWith(ctx context.Context, logProbs *mat.Dense, labels []int, embedding mat.Matrix, s Settings, u Uncertainty, rng *rand.Rand) (*Report, error) {
	b, z, err := prepare(logProbs, labels, embedding, s)
	if err != nil {
		return nil, err
	}
	r, _, err := b.uncertain(ctx, z, u, rng)
	return r, err
}

// The steps of an evaluation.
const (
	measuring = iota
	resampling
	recounting
	scoring
)

// step is the context of a step. Their times are those of so many rows and classes on one core, in seconds: one pass
// through the kernel, if there is one, for the values, a longer one for resampled rows with redrawn labels, and another
// for the latter where labels are soft and redrawn ones are not.
func (b *binned) step(ctx context.Context, z *scaled, step int) context.Context {
	n, c := float64(b.N), float64(b.Classes)
	times := []float64{measuring: 2e-9 * n * n, resampling: 1e-6 * n * c, recounting: 2.5e-9 * n * n * c, scoring: 4.3e-7 * n * c * c}
	switch {
	case z == nil:
		times[measuring], times[recounting] = 0, 0
	case b.Shares != nil:
		times[recounting] *= 2
	}
	return work.Piece(ctx, []string{"measure", "resample", "count resampled rows", "decompose the scores"}[step], step, times...)
}

// Expected is about how many seconds [Evaluate] takes on one core for N rows of C classes in an embedding.
func Expected(rows, classes int) float64 {
	n, c := float64(rows), float64(classes)
	return n * c * (1e-6 + 2.5e-9*n + 4.3e-7*c)
}

// uncertain measures with the uncertainty, and gives the resamples too.
func (b *binned) uncertain(ctx context.Context, z *scaled, u Uncertainty, rng *rand.Rand) (*Report, *resamples, error) {
	u, err := u.filled()
	if err != nil {
		return nil, nil, err
	}
	m, err := b.measure(b.step(ctx, z, measuring), z)
	if err != nil {
		return nil, nil, err
	}
	r := &Report{Measurement: *m, Settings: b.settings, Uncertainty: u, SmoothECE: math.NaN(), SmoothInterval: noInterval}
	x, err := b.resample(b.step(ctx, z, resampling), r, rng)
	if err != nil {
		return nil, nil, err
	}
	if z != nil {
		without, err := b.localUncertainty(b.step(ctx, z, recounting), z, r.Local, x, rng)
		if err != nil {
			return nil, nil, err
		}
		if b.settings.Strata != nil {
			r.Strata = b.strata(r.Local)
		}
		if without != nil {
			r.Without[LCE], r.Without[MLCE] = column(without, LCE), column(without, MLCE)
		}
	}
	wider := b.wider()
	for m := range Metrics {
		replicates := x.replicates
		if b.anchors != nil && m.Local() {
			replicates = nil
		}
		r.spread(m, replicates, x.redraws, wider)
	}
	if u.Replicates > 0 {
		for m, i := range b.meanIntervals() {
			if i != (Interval{}) {
				r.Intervals[m] = i
			}
		}
	}
	if b.anchors != nil && r.Anchors != nil { // of the rows drawn; all of them stay the same
		half := distuv.UnitNormal.Quantile(.975) * r.Anchors.SE
		r.Intervals[LCE] = Interval{max(r.Values[LCE]-half, 0), r.Values[LCE] + half}
	}
	return r, x, nil
}

// resamples are the metrics of resampled rows and of redrawn labels, the local ones not yet known.
type resamples struct {
	*variants
	replicates, redraws []Values
}

// resample measures them, as many as r sets, and fills in the uncertainty of metrics from outside.
func (b *binned) resample(ctx context.Context, r *Report, rng *rand.Rand) (*resamples, error) {
	v := b.variants(r, rng)
	values, own := make([]Values, v.count()), make([][]float64, len(r.Own)) // of each variant
	for j := range own {
		own[j] = make([]float64, v.count())
	}
	err := work.Parts{N: v.count()}.Do(ctx, func(_ context.Context, k int) error {
		as := v.at(k)
		if k < v.firstPart() || k >= v.firstRedraw() {
			values[k] = b.global(as)
		}
		for j, o := range r.Own {
			own[j][k] = b.own(o.Own, as)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("metrics: measure the uncertainty: %w", err)
	}
	for j := range r.Own {
		r.Own[j].spread(v, own[j])
		if o := &r.Own[j]; o.Row != nil && v.firstPart() > 0 {
			o.Interval = b.ownInterval(o.Own)
		}
	}
	return &resamples{v, values[:v.firstPart()], values[v.firstRedraw():]}, nil
}

// across is what of gives of so many of the resampled rows, and then of so many of the redrawn labels. Each goroutine
// has an of of its own.
func across[T any](
	ctx context.Context, x *resamples, replicates, redraws int, newOf func() func(variant) T,
) ([]T, error) {
	found := make([]T, replicates+redraws)
	err := work.Parts{N: len(found)}.With(ctx, func() func(context.Context, int) error {
		of := newOf()
		return func(_ context.Context, k int) error {
			at := k
			if k >= replicates {
				at += x.firstRedraw() - replicates
			}
			found[k] = of(x.at(at))
			return nil
		}
	})
	return found, err
}

// spread fills in the interval, so many times as wide as the replicates, and the noise floor of a metric, as far as
// there are replicates and redraws.
func (r *Report) spread(m Metric, replicates, redraws []Values, wider float64) {
	r.Intervals[m] = noInterval
	if len(replicates) > 0 {
		r.Replicates[m] = column(replicates, m)
		r.Intervals[m] = around(r.Values[m], r.Replicates[m], wider).possible(r.Values[m])
	}
	if len(redraws) > 0 {
		r.Noise[m] = newNoise(m, r.Values[m], column(redraws, m))
	}
	r.Many[m] = noInterval
	if n := r.Noise[m]; n != nil && (m == ECE || m == TopECE || m == ECCE || m == LCE) {
		r.Many[m] = r.Intervals[m].lessFloor(n.Mean)
	}
}

func column(v []Values, m Metric) []float64 {
	x := make([]float64, len(v))
	for i := range v {
		x[i] = v[i][m]
	}
	return x
}

// localUncertainty fills in the local metrics of x and the floor of local, and gives the metrics
// without each part of the rows, all in one pass over the kernel. At anchors no rows are resampled.
func (b *binned) localUncertainty(ctx context.Context, z *scaled, local *Local, x *resamples, rng *rand.Rand) (without []Values, err error) {
	replicates, redraws := x.replicates, x.redraws
	groups, order, blocks := &grouped{}, b.firstOrder(), evenBlocks
	if b.anchors == nil {
		groups = newGrouped(b.N, b.Classes, len(replicates), b.groups, rng)
		order, blocks = groups.order, groups.blocks
	} else if replicates = nil; len(redraws) == 0 {
		return nil, nil
	}
	if len(redraws) > 0 {
		local.Floor = mat.NewDense(b.receivers(), b.Classes, nil)
	}
	pass := localPass{
		binned: b, local: local, groups: groups, labels: append([]ids{idsOf(b.Label, b.Classes)}, x.redrawn...), draws: len(replicates) > 0,
		resampled: tallyOf(b.Sample, len(replicates)+groups.parts), relabelled: tallyOf(b.Sample, len(redraws)),
	}
	passes := []localPass{pass}
	if b.Shares != nil {
		redrawn := pass
		redrawn.binned, redrawn.draws = b.certain(), false
		passes[0].labels = pass.labels[:1]
		passes = append(passes, redrawn)
	}
	for k, pass := range passes {
		within := work.Span(ctx, "", float64(k)/float64(len(passes)), float64(k+1)/float64(len(passes)))
		if err := b.inTurn(within, pass.parts(z, order, blocks), pass.count); err != nil {
			return nil, fmt.Errorf("metrics: measure the local uncertainty: %w", err)
		}
	}
	measure := func(v *Values, from *tally, k int, x variant) {
		v[LCE], v[MLCE] = from.values(k, b.classWeights(x), b.settings.Protocol)
	}
	resampled := append(slices.Clone(replicates), make([]Values, groups.parts)...)
	for k := range resampled {
		measure(&resampled[k], pass.resampled, k, variant{b.Times(groups.weights(k)), b.Truth})
	}
	for k := range redraws {
		measure(&redraws[k], pass.relabelled, k, variant{b.Weights(), checked.Truth{Label: x.redrawn[k].all(b.N)}})
	}
	copy(replicates, resampled)
	return resampled[len(replicates):], nil
}

// localPass is what a pass over the kernel counts for resampled rows and for redrawn labels.
type localPass struct {
	*binned
	local                 *Local
	groups                *grouped
	labels                []ids // as they are, then the redrawn ones
	draws                 bool  // whether rows are resampled
	resampled, relabelled *tally
}

// count goes through a part of the rows, elsewhere as far as that is done there.
func (u *localPass) count(ctx context.Context, n *neighbours) (err error) {
	counted, drawn := len(u.labels) == 1, !u.draws
	if !counted && u.anchors == nil && u.settings.Strata == nil { // which need the floor of each row
		if counted, err = n.redrawnElsewhere(ctx, u.settings.Executor, u.labels, u.relabelled); counted {
			u.local.Floor = nil
		}
	}
	if !drawn && err == nil {
		drawn, err = n.resampledElsewhere(ctx, u.settings.Executor, u.groups, u.resampled)
	}
	if err != nil {
		return err
	}
	if counted && drawn {
		return nil
	}
	var places []ids
	if !counted {
		places = n.redrawPlaces(u.labels)
	}
	var tallies []func()
	err = n.each(ctx, func() (observers []observer) {
		if !drawn {
			o := newResampler(u.groups, u.resampled)
			observers = append(observers, o)
			tallies = append(tallies, func() { u.resampled.merge(o.tally) })
		}
		if !counted {
			o := n.newRedrawer(places, u.labels, u.local)
			observers = append(observers, o)
			tallies = append(tallies, func() { u.relabelled.merge(o.counts) })
		}
		return observers
	})
	if err != nil {
		return err
	}
	for _, merge := range tallies {
		merge()
	}
	return nil
}

// noisy is a value as result files have it.
type noisy struct {
	Value float64   `json:"value"`
	CI    []float64 `json:"ci,omitempty"`
	Many  []float64 `json:"ci_many_rows,omitempty"` // [Measured.Many]
	Noise *Noise    `json:"noise,omitempty"`
}

// newNoisy is nil of a value that could not be measured.
func newNoisy(m Measured) *noisy {
	if math.IsNaN(m.Value) {
		return nil
	}
	ends := func(i Interval) []float64 {
		if math.IsNaN(i.Low) {
			return nil
		}
		return []float64{i.Low, i.High}
	}
	return &noisy{m.Value, ends(m.Interval), ends(m.Many), m.Noise}
}

// The parts of a report as files have them.
type (
	essProfile struct {
		LCE   []float64 `json:"lce"`
		ESS   []float64 `json:"ess"`
		Count []int     `json:"count"`
	}
	reportSettings struct {
		Bins       int    `json:"bins"`
		Binning    string `json:"binning"`
		Bandwidth  number `json:"bandwidth"`
		Epsilon    number `json:"epsilon,omitempty"`
		Weights    string `json:"weights"`
		SmallBin   int    `json:"small_bin"`
		Replicates int    `json:"replicates"`
		Redraws    int    `json:"redraws"`
	}
)

// MarshalJSON writes the report: under "metrics" each metric's value, "ci" and
// "noise", then what was found besides and the ESS profile. What could not be measured is left
// out, and "missing" gives the reason.
func (r *Report) MarshalJSON() ([]byte, error) {
	metrics, err := r.object(func(m Measured) any { return newNoisy(m) })
	if err != nil {
		return nil, err
	}
	var ess *essProfile
	if !math.IsNaN(r.Values[LCE]) {
		p := r.Local.ESSProfile(defaultBins)
		ess = &essProfile{p.LCE, p.At, p.Count}
	}
	s := r.Settings
	return json.Marshal(struct {
		Protocol  Protocol        `json:"protocol"`
		Rows      int             `json:"rows"`
		Effective float64         `json:"effective_rows,omitempty"`
		Classes   int             `json:"classes"`
		Settings  reportSettings  `json:"settings"`
		Metrics   json.RawMessage `json:"metrics"`
		Floored   *Floored        `json:"floored,omitempty"`
		Smooth    *noisy          `json:"smece_top,omitempty"`
		Recovered *Recovered      `json:"recoverable,omitempty"`
		Anchors   *AnchorSample   `json:"anchors,omitempty"`
		Besides
		ESSProfile *essProfile `json:"ess_profile,omitempty"`
		Missing    string      `json:"missing,omitempty"`
		Told
	}{
		Protocol: r.Protocol, Rows: r.Rows, Effective: r.Effective, Classes: r.Classes, Metrics: metrics, Floored: r.Floored,
		Settings: reportSettings{
			Bins: s.Bins, Binning: s.Binning.String(), Bandwidth: number(s.Bandwidth), Epsilon: number(s.Epsilon), Weights: s.Weighting.String(), SmallBin: s.SmallBin,
			Replicates: r.Uncertainty.Replicates, Redraws: r.Uncertainty.Redraws,
		},
		Smooth:    newNoisy(Measured{Value: r.SmoothECE, Interval: r.SmoothInterval, Many: noInterval, Noise: r.SmoothNoise}),
		Recovered: r.Recovered, Anchors: r.Anchors, Besides: r.Besides, ESSProfile: ess, Missing: r.Missing(), Told: r.Told,
	})
}

// number is a float64 that may be +∞, which JSON has no number for: "inf".
type number float64

func (x number) MarshalJSON() ([]byte, error) {
	if math.IsInf(float64(x), 1) {
		return []byte(`"inf"`), nil
	}
	return json.Marshal(float64(x))
}

// Missing names in a sentence which metrics could not be measured and why, or nothing.
func (m *Measurement) Missing() string {
	switch {
	case m.Local == nil:
		return "LCE, MLCE and the ESS profile need an embedding of the rows"
	case math.IsNaN(m.Values[LCE]):
		return "LCE, MLCE and the ESS profile need a bin that is not skipped as too small"
	case math.IsNaN(m.Values[MLCE]):
		return "MLCE, the largest of all rows, is not known from a sample of them"
	}
	return ""
}

package study

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"

	"calibra/data"
	"calibra/experiments/diagnosis"
	"calibra/experiments/metrics"
	"calibra/experiments/program"
	"calibra/experiments/report"
	"calibra/experiments/run"
	"calibra/experiments/source"
)

// Result is the stored result of a cell.
type Result struct {
	Spec     run.Spec         `json:"spec"`
	Protocol metrics.Protocol `json:"protocol"` // of the metrics
	Program  program.Program  `json:"program"`
	Code     string           `json:"code,omitempty"` // as [Cell.Code]

	Classes         int `json:"classes"`
	Features        int `json:"features"`
	CalibrationRows int `json:"calibration_rows"`
	ValidationRows  int `json:"validation_rows"`
	TestRows        int `json:"test_rows"`
	// TestDigest identifies the test rows.
	TestDigest string `json:"test_digest,omitempty"`
	// Priors are the class shares of the calibration rows.
	Priors []float64 `json:"priors"`

	Shared map[string]float64 `json:"metrics"` // in the embedding shared by all methods
	// HeldOut is the NLL on calibration rows held out of a fit before; nil where that was not asked for.
	HeldOut *float64           `json:"held_out_nll,omitempty"`
	Own     map[string]float64 `json:"own,omitempty"` // lce and mlce in the method's own, if it has one
	// Noise and OwnNoise are the values of Shared and Own for a calibrated model: the mean of
	// redraws.
	Noise    map[string]float64 `json:"noise"`
	OwnNoise map[string]float64 `json:"own_noise,omitempty"`
	// Strata and OwnStrata are the local errors of the thirds of the rows by density, the
	// sparse one first, in either embedding; nil where no noise floor was measured.
	Strata    []Stratum `json:"strata,omitempty"`
	OwnStrata []Stratum `json:"own_strata,omitempty"`
	// Intervals and OwnIntervals are the 95 % bootstrap intervals of Shared and Own over the
	// test rows; nil where none were asked for.
	Intervals    map[string]metrics.Interval `json:"intervals,omitempty"`
	OwnIntervals map[string]metrics.Interval `json:"own_intervals,omitempty"`
	// Replicates and Without belong to LCE in the shared embedding; methods are compared in
	// pairs by them (see [metrics.Report]). nil likewise.
	Replicates gapped `json:"replicates,omitempty"`
	Without    gapped `json:"without,omitempty"`
	// Others are metrics from outside by key: their values, intervals and noise floors stand in
	// Shared, Intervals and Noise.
	Others map[string]Other `json:"others,omitempty"`
	Losses []float32        `json:"losses,omitempty"` // −log p of each test row's label, by weight, on which methods are compared in pairs
	// Misses are the places of the test rows whose top class is not their label; nil where that
	// was not kept, or rows have weights or soft labels: they have Wrong.
	Misses []int     `json:"misses"`
	Wrong  []float32 `json:"wrong,omitempty"`
	// Calibration are the losses whose mean is the squared calibration error of the top class; nil where they were not
	// kept.
	Calibration []float32       `json:"calibration_losses,omitempty"`
	Effective   float64         `json:"effective_rows,omitempty"` // of the test rows
	Events      *metrics.Events `json:"events,omitempty"`
	Law         *metrics.Law    `json:"law,omitempty"` // of its NLL less that of the classifier as it is; nil where that is not known
	// Floored are the test rows whose label was given next to no probability; nil where none was.
	Floored *metrics.Floored `json:"floored,omitempty"`
	// Kept says that the fit keeps the classifier ([run.Run.Kept]); "" where it does not.
	Kept string `json:"classifier_kept,omitempty"`
	// Rows are the numbers of the test rows that count in the data that all seeds split; nil where
	// each seed draws rows of its own.
	Rows     []int            `json:"rows,omitempty"`
	Groups   []int            `json:"groups,omitempty"`   // likewise those of the rows, where folds hold them whole
	Truth    *metrics.Truth   `json:"truth,omitempty"`    // where the true posterior is known
	ESS      *metrics.Profile `json:"ess,omitempty"`      // local error along the effective sample size, shared embedding
	OwnESS   *metrics.Profile `json:"own_ess,omitempty"`  // likewise in the method's own
	Locality *Locality        `json:"locality,omitempty"` // nil where that was not asked for
	Bins     []ConfidenceBin  `json:"reliability"`        // of the top class
	// Portrait is what the predictions look like; empty where no intervals were asked for.
	diagnosis.Portrait
	ClassNames []string `json:"class_names,omitempty"`
	GroupNames []string `json:"group_names,omitempty"`
	Usage      []int    `json:"usage,omitempty"`  // test slots assigned to each codeword
	Stages     []Stage  `json:"stages,omitempty"` // of methods trained in epochs
	Time       float64  `json:"seconds"`          // the whole cell
	Fit        float64  `json:"fit_seconds"`      // the fit alone, with its tuning
	Predict    float64  `json:"predict_seconds"`  // the test rows' predictions
}

// Stage is one part of a fit.
type Stage struct {
	Name    string  `json:"name"`
	Epochs  int     `json:"epochs"`
	Best    int     `json:"best"`
	Seconds float64 `json:"seconds"`
	Short   string  `json:"short,omitempty"` // the reason if it stopped before it was done
	// Loss and Gradient are the training loss of the weights that are kept and the ∞-norm of its full gradient there;
	// nil where they are not known.
	Loss     *float64 `json:"loss,omitempty"`
	Gradient *float64 `json:"gradient,omitempty"`
}

// gapped is numbers of which some may be NaN, which are null in JSON.
type gapped []float64

func (g gapped) MarshalJSON() ([]byte, error) {
	return json.Marshal(data.Each(g, finite))
}

func (g *gapped) UnmarshalJSON(text []byte) error {
	var in []*float64
	if err := json.Unmarshal(text, &in); err != nil {
		return err
	}
	*g = data.Each(in, known)
	return nil
}

// Other holds the values by which two methods are compared in a metric of another module.
type Other struct {
	Losses     []float32 `json:"losses,omitempty"` // of each test row; nil of a metric of all rows together
	Replicates gapped    `json:"replicates,omitempty"`
	Without    gapped    `json:"without,omitempty"`
}

// addOthers adds what methods are compared by in the metrics from outside.
func (r *Result) addOthers(own []metrics.OwnValue) {
	for _, o := range own {
		if math.IsNaN(o.Value) {
			continue
		}
		other := Other{Losses: singles(o.Rows)}
		if o.Rows == nil {
			other.Replicates, other.Without = o.Replicates, o.Without
		}
		if r.Others == nil {
			r.Others = map[string]Other{}
		}
		r.Others[o.Key] = other
	}
}

// Stratum is the local error of some of the rows with what it would be of a calibrated
// model, each nil where it was not measured.
type Stratum struct {
	LCE   *float64 `json:"lce,omitempty"`
	Noise *float64 `json:"noise,omitempty"`
}

// ConfidenceBin is a bar of a reliability diagram.
type ConfidenceBin struct {
	Count      int     `json:"count"`
	Confidence float64 `json:"confidence"` // mean probability of the top class
	Accuracy   float64 `json:"accuracy"`
}

// profileBins is the number of quantile bins of an ESS profile, as published.
const profileBins = 15

// newResult measures a run for the report.
func newResult(ctx context.Context, run *run.Run) (*Result, error) {
	o := run.Outcome
	if !run.Judged() {
		return nil, fmt.Errorf("there are no labelled test rows to judge on")
	}
	r := &Result{
		Spec: run.Spec, Protocol: o.Metrics.Protocol,
		Truth: o.Truth, Usage: run.Usage, Fit: run.Fit.Seconds(), Predict: run.Predict.Seconds(), Losses: singles(o.Metrics.NLL), Effective: o.Metrics.Effective, Events: o.Metrics.Events, Floored: o.Metrics.Floored, Kept: run.Kept(),
	}
	if run.Spec.Judging.HeldOut {
		r.HeldOut = &run.HeldOut
	}
	r.wrongRows(run)
	r.Calibration = singles(run.Outcome.Metrics.Calibration)
	r.describe(run.Source)
	var err error
	if r.Law, err = lawOf(run); err != nil {
		return nil, err
	}
	if m := o.OwnMetrics; m != nil {
		r.OwnESS, r.OwnStrata = profile(&m.Measurement), strata(m)
		values, intervals, noise := byKey(m)
		r.Own, r.OwnIntervals, r.OwnNoise = localOnly(values), localOnly(intervals), localOnly(noise)
	}
	r.Locality = newLocality(o.Locality)
	r.ESS, r.Strata = profile(&o.Metrics.Measurement), strata(o.Metrics)
	r.Shared, r.Intervals, r.Noise = byKey(o.Metrics)
	if o.Metrics.Local != nil {
		r.Replicates, r.Without = o.Metrics.Replicates[metrics.LCE], o.Metrics.Without[metrics.LCE]
	}
	r.addOthers(o.Metrics.Own)
	for _, s := range run.Stages {
		stage := Stage{Name: s.Name, Epochs: s.Result.Epochs, Best: s.Result.Best, Seconds: s.Time.Seconds(), Loss: finite(s.Result.Loss), Gradient: finite(s.Result.GradientNorm)}
		if !s.Result.Converged() {
			stage.Short = s.Result.Ended
		}
		if o := s.Result.Optimum; o != nil && !o.Reached {
			stage.Short = o.Why
		}
		r.Stages = append(r.Stages, stage)
	}
	if r.Bins, err = confidenceBins(o.Predictions); err != nil {
		return nil, err
	}
	if p := o.Predictions; run.Spec.Judging.Replicates > 0 {
		r.ClassNames, r.GroupNames = run.Source.Cal.Names.Classes, p.Groups.Names
		r.Portrait, err = diagnosis.NewPortrait(p.LogProbs, p.Labels, metrics.Settings{Rows: p.Counting(), Soft: p.Soft, Groups: p.Groups.Of}, rand.New(rand.NewPCG(run.Spec.Seed, 7)))
	}
	return r, err
}

// names are those of its classes and groups.
func (r *Result) names() report.Names {
	return report.Names{Classes: r.ClassNames, Groups: r.GroupNames}
}

// lawOf is the law of a run's NLL less that of the classifier's own for the same rows.
func lawOf(run *run.Run) (*metrics.Law, error) {
	p, test := run.Outcome.Predictions, run.Source.Test
	if n, c := p.LogProbs.Dims(); test.Logits == nil || test.Logits.RawMatrix().Rows != n || test.Logits.RawMatrix().Cols != c {
		return nil, nil
	}
	return metrics.NewLaw(p.LogProbs, data.LogProbs(test.Logits), p.Labels, metrics.Settings{Rows: p.Counting(), Soft: p.Soft})
}

// describe fills in what the rows of the source are.
func (r *Result) describe(src *data.Source) {
	size := source.SizeOf(src)
	r.Classes, r.Features, r.CalibrationRows, r.Priors = size.Classes, size.Features, size.Rows, ClassShares(src.Cal, size.Classes)
	r.TestRows, r.TestDigest = src.Test.Len(), src.Test.Digest()
	if src.Val != nil {
		r.ValidationRows = src.Val.Len()
	}
}

// ClassShares are those of the labels of rows, by weight.
func ClassShares(x *data.Set, classes int) []float64 {
	shares := make([]float64, classes)
	for i := range x.Labels {
		for k, share := range x.Shares(i) {
			shares[k] += x.Weight(i) * share / x.Total()
		}
	}
	return shares
}

// singles are numbers as results keep those of each row, nil of none.
func singles(x []float64) []float32 {
	return data.Each(x, func(v float64) float32 { return float32(v) })
}

// wrongRows keeps [metrics.Measurement.Wrong], as the places of its ones where it has nothing else but zeros.
func (r *Result) wrongRows(run *run.Run) {
	wrong := run.Outcome.Metrics.Wrong
	if test := run.Source.Test; !test.Certain() {
		r.Wrong = singles(wrong)
		return
	}
	r.Misses = []int{}
	for i, x := range wrong {
		if x == 1 {
			r.Misses = append(r.Misses, i)
		}
	}
}

// wrong is [metrics.Measurement.Wrong]; nil where that was not kept.
func (r *Result) wrong() []float32 {
	if r.Wrong != nil || r.Misses == nil {
		return r.Wrong
	}
	out := make([]float32, len(r.Losses))
	for _, i := range r.Misses {
		out[i] = 1
	}
	return out
}

// byKey are the values of the metrics that were measured, with the intervals and the means of the noise floors of those
// that have them, by the keys of the metrics.
func byKey(r *metrics.Report) (values map[string]float64, intervals map[string]metrics.Interval, noise map[string]float64) {
	values, intervals, noise = map[string]float64{}, map[string]metrics.Interval{}, map[string]float64{}
	for _, m := range r.Measured() {
		values[m.Key] = m.Value
		if !math.IsNaN(m.Interval.Low) {
			intervals[m.Key] = m.Interval
		}
		if m.Noise != nil {
			noise[m.Key] = m.Noise.Mean
		}
	}
	return values, intervals, noise
}

func strata(r *metrics.Report) []Stratum {
	return data.Each(r.Strata, func(s metrics.Stratum) Stratum { return Stratum{finite(s.LCE), finite(s.Floor)} })
}

// localOnly keeps LCE and MLCE: the others are the same in every embedding.
func localOnly[V any](values map[string]V) map[string]V {
	maps.DeleteFunc(values, func(name string, _ V) bool {
		return name != metrics.LCE.String() && name != metrics.MLCE.String()
	})
	return values
}

// profile is nil where nothing local was measured.
func profile(m *metrics.Measurement) *metrics.Profile {
	if m.Local == nil || math.IsNaN(m.Values[metrics.LCE]) {
		return nil
	}
	p := m.Local.ESSProfile(profileBins)
	return &p
}

// confidenceBins is the reliability diagram of the top class.
func confidenceBins(p *data.Predictions) ([]ConfidenceBin, error) {
	top, _, err := metrics.Reliability(p.LogProbs, p.Labels, metrics.Settings{Rows: p.Counting(), Soft: p.Soft})
	if err != nil {
		return nil, err
	}
	bins := make([]ConfidenceBin, len(top.Count))
	for k, n := range top.Count {
		if n > 0 {
			bins[k] = ConfidenceBin{n, top.Confidence[k], top.Frequency[k]}
		}
	}
	return bins, nil
}

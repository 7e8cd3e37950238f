package study

import (
	"math"
	"slices"
	"strings"

	"calibra/data"
	"calibra/experiments/diagnosis"
	"calibra/experiments/metrics"
	"calibra/experiments/report"
	"calibra/experiments/run"
	"calibra/experiments/source"
	"calibra/experiments/verdict"
)

// Findings is a study with its results.
type Findings struct {
	Study    *Study
	Settings Settings
	Cells    []Cell
	Results  []*Result // of each cell, nil where it failed
	Failures []*Task
	Skipped  []Skipped
	Head     []report.Fact // of the report: where it comes from
	Store    Store         // of the cells
	// Inputs are the user's names of the data, for the commands of a verdict; nil for none.
	Inputs map[*source.Origin]string
	// Where are diagnoses of the classifier's predictions for the test rows of the data; nil if nobody looked.
	Where map[*source.Origin]*diagnosis.Diagnosis
	// Doubts say why nothing that the rows of the data show is to be used; nil where they are as they should be.
	Doubts map[*source.Origin][]string
	// Shifted are the verdicts on data whose classes are more or less frequent among its test rows; nil for none.
	Shifted map[*source.Origin]*verdict.Verdict
	// Shares are those of the classes of such data.
	Shares map[*source.Origin]*report.Shares
	Notes  *[]verdict.Note // that the command tells besides; nil without

	answers map[question]map[run.Spec]*Against // to what was asked before
	err     error                              // why a view cannot be shown
}

// Findings are the findings from the plan of the study's cells.
func (s *Study) Findings(set Settings, p *Plan) *Findings {
	return &Findings{
		Study: s, Settings: set, Failures: p.Failures(), Store: p.Store,
		Cells: data.Each(p.Tasks, func(t *Task) Cell { return t.cell }), Results: data.Each(p.Tasks, func(t *Task) *Result { return t.result }),
	}
}

// TestRows is how many rows a cell was judged on, 0 where none has a result.
func (f *Findings) TestRows() int {
	for _, r := range f.Results {
		if r != nil {
			return r.TestRows
		}
	}
	return 0
}

// encoded is what a subject's rows are features of.
type encoded struct {
	origin  *source.Origin
	encoder string
}

// subject is what one block of a table is about: a data set under one encoder.
type subject struct {
	encoded
	rows []*row
}

// row is one setting over all seeds.
type row struct {
	spec    run.Spec // of the first seed
	labels  []string // one a field that the study varies
	cells   []Cell
	results []*Result // those that are there
}

// Title is the subject as tables name it: "cifar10 · resnet".
func (s *subject) Title() string {
	name := s.origin.Dataset
	if b := s.Backbone(); b != "" {
		name += " · " + b
	}
	return name
}

// Backbone is what made the features.
func (s *subject) Backbone() string {
	if s.encoder != "" {
		return s.encoder
	}
	return s.origin.Backbone
}

// slug is the title as part of a file name.
func (s *subject) slug() string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '-':
			return r
		}
		return '-'
	}, strings.ReplaceAll(s.Title(), " · ", "-"))
}

// subjects groups the cells: by origin and encoder, then by all of a Spec but the
// seed, and by label.
func (f *Findings) subjects() []*subject {
	var out []*subject
	for i, c := range f.Cells {
		from := encoded{c.Origin, c.Spec.Encoder}
		at := slices.IndexFunc(out, func(s *subject) bool { return s.encoded == from })
		if at < 0 {
			at = len(out)
			out = append(out, &subject{encoded: from})
		}
		s, spec := out[at], c.Spec
		labels := data.Each(f.Study.Vary, func(field Field) string { return field.Of(c.Spec) })
		k := slices.IndexFunc(s.rows, func(r *row) bool {
			spec.Seed = r.spec.Seed
			return r.spec == spec && slices.Equal(r.labels, labels)
		})
		if k < 0 {
			k = len(s.rows)
			s.rows = append(s.rows, &row{spec: c.Spec, labels: labels})
		}
		s.rows[k].cells = append(s.rows[k].cells, c)
		if r := f.Results[i]; r != nil {
			s.rows[k].results = append(s.rows[k].results, r)
		}
	}
	return out
}

// row is that of a method with results, nil if there is none.
func (s *subject) row(method string) *row {
	if i := slices.IndexFunc(s.rows, func(r *row) bool { return r.spec.Method == method && len(r.results) > 0 }); i >= 0 {
		return s.rows[i]
	}
	return nil
}

// best is the row of the best mean of a metric, nil if none has one.
func (s *subject) best(q quantity) (best *row) {
	for _, r := range s.rows {
		mean := r.spread(q).Mean
		if math.IsNaN(mean) {
			continue
		}
		if best == nil || mean < best.spread(q).Mean != q.metric.HigherIsBetter() && mean != best.spread(q).Mean {
			best = r
		}
	}
	return best
}

// quantity is one number of a result; it is NaN where the result has none.
type quantity struct {
	metric   metrics.Metric // how it is written, and its key in package paper
	key      string         // of a metric in result files, "" of other numbers
	title    string
	value    func(*Result) float64
	unranked bool // neither small nor large is better
	own      bool // measured in the method's own embedding
}

// local is what a result has in one embedding.
type local struct {
	values, noise map[string]float64
	strata        []Stratum
	profile       *metrics.Profile
}

// embedding is where local metrics are measured.
type embedding struct {
	title, words, suffix string // in figures, sentences and names of columns
	of                   func(*Result) local
}

// The embedding shared by all methods, and the method's own, which is the shared one for methods without one, as
// published.
var (
	sharedEmbedding = embedding{title: "shared embedding", words: "the embedding shared by all methods", of: func(r *Result) local {
		return local{values: r.Shared, noise: r.Noise, strata: r.Strata, profile: r.ESS}
	}}
	ownEmbedding = embedding{title: "own embedding", words: "each method's own embedding", suffix: "_own", of: func(r *Result) local {
		out := sharedEmbedding.of(r)
		if r.Own != nil {
			out.values, out.noise, out.strata = r.Own, r.OwnNoise, r.OwnStrata
		}
		if r.OwnESS != nil {
			out.profile = r.OwnESS
		}
		return out
	}}
)

// embeddings are where local metrics are shown: in the shared one alone, which needs no title then, where no method has
// one of its own.
func (f *Findings) embeddings() []embedding {
	if slices.ContainsFunc(f.Results, func(r *Result) bool { return r != nil && r.Own != nil }) {
		return []embedding{ownEmbedding, sharedEmbedding}
	}
	only := sharedEmbedding
	only.title = ""
	return []embedding{only}
}

// under is a title with that of the embedding, if it has one.
func (e embedding) under(title string) string {
	if e.title == "" {
		return title
	}
	return title + ", " + e.title
}

// metric is the local metric there.
func (e embedding) metric(m metrics.Metric) quantity {
	return quantity{metric: m, key: m.String(), own: e.suffix != "", title: m.Title(), value: func(r *Result) float64 { return at(e.of(r).values, m.String()) }}
}

// sharedMetric is the metric, local ones in the embedding shared by all methods.
func sharedMetric(m metrics.Metric) quantity {
	return sharedEmbedding.metric(m)
}

// others are the metrics from outside.
func (f *Findings) others() []quantity {
	return data.Each(f.Settings.Catalog.Metrics(), func(o metrics.Own) quantity {
		return quantity{metric: o.Like(), key: o.Key, title: o.Head(), value: func(r *Result) float64 { return at(r.Shared, o.Key) }}
	})
}

// measured are all metrics, in the shared embedding.
func (f *Findings) measured() (all []quantity) {
	for m := range metrics.Metrics {
		all = append(all, sharedMetric(m))
	}
	return append(all, f.others()...)
}

// noiseOf is what the metric would be of a perfectly calibrated model, local ones in an embedding.
func noiseOf(m metrics.Metric, in embedding) quantity {
	return quantity{metric: m, title: m.Title() + " noise", unranked: true, value: func(r *Result) float64 { return at(in.of(r).noise, m.String()) }}
}

// above is a quantity less its noise floor.
func above(q, floor quantity) quantity {
	return quantity{metric: q.metric, title: q.title + " − noise", value: func(r *Result) float64 { return q.value(r) - floor.value(r) }}
}

// thirds of the rows by density, in the order of [Result.Strata].
var thirds = []string{"sparse", "middle", "dense"}

// inThird is the local error of a third of the rows in an embedding, and its noise floor.
func inThird(third int, in embedding) (q, floor quantity) {
	number := func(part func(Stratum) *float64) func(*Result) float64 {
		return func(r *Result) float64 {
			if strata := in.of(r).strata; third < len(strata) {
				return known(part(strata[third]))
			}
			return nan
		}
	}
	title := "LCE " + thirds[third]
	return quantity{metric: metrics.LCE, title: title, value: number(func(s Stratum) *float64 { return s.LCE })},
		quantity{metric: metrics.LCE, title: title + " noise", unranked: true, value: number(func(s Stratum) *float64 { return s.Noise })}
}

// truths are the quantities that are known where the posterior is: of synthetic data alone.
var truths = []quantity{
	ofTruth("true LCE", func(t *metrics.Truth) float64 { return t.LCE }),
	ofTruth("KL to truth", func(t *metrics.Truth) float64 { return t.KL }),
}

func ofTruth(title string, value func(*metrics.Truth) float64) quantity {
	return quantity{metric: metrics.LCE, title: title, value: func(r *Result) float64 {
		if r.Truth == nil {
			return nan
		}
		return value(r.Truth)
	}}
}

func at(values map[string]float64, key string) float64 {
	if v, ok := values[key]; ok {
		return v
	}
	return nan
}

// known is a number, NaN where it is not there.
func known(x *float64) float64 {
	if x == nil {
		return nan
	}
	return *x
}

// values are the quantity of each of the row's seeds that has it.
func (r *row) values(q quantity) (v []float64) {
	for _, res := range r.results {
		if x := q.value(res); !math.IsNaN(x) {
			v = append(v, x)
		}
	}
	return v
}

// spread is the quantity over the row's seeds, NaN without results.
func (r *row) spread(q quantity) metrics.Spread {
	if v := r.values(q); v != nil {
		return metrics.NewSpread(v)
	}
	return metrics.Spread{Mean: nan, SD: nan}
}

package study

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"calibra/data"
	"calibra/experiments/method"
	"calibra/experiments/metrics"
	"calibra/experiments/report"
	"calibra/experiments/run"
	"calibra/experiments/verdict"
)

const compareName = "compare"

// Compare sets methods side by side on one features file, each with the split that it needs,
// and reports which differ by more than chance. It has a command of its own, calibra compare,
// and is none of Studies.
var Compare = Study{
	Name: compareName, Title: "Comparison of methods", Line: "methods side by side, and which of them differ by more than chance",
	Grid:    always(each((*method.Catalog)(nil).Names()...)),
	Vary:    []Field{{byMethod.Head, func(s run.Spec) string { return s.Method }}},
	Views:   []View{forests, Compared, reliabilityDiagrams, intervalsTable, differencesTable},
	Judging: run.Judging{Replicates: 200, Redraws: 20},
	Files:   []File{{"results.csv", writeValues}, {"metrics.json", writeSummary}},
}

// testedBy are the metrics whose differences to the best method are tested.
func (f *Findings) testedBy() []quantity {
	return append([]quantity{sharedMetric(metrics.LCE), sharedMetric(metrics.NLL)}, f.others()...)
}

// Against is the difference of a method in a metric to the best one, or to another, on the same test rows.
type Against struct {
	Best string `json:"best"`
	metrics.Comparison
	Holm float64 `json:"p_holm"` // the p-value, adjusted for all methods (Holm 1979)
}

// Significant reports whether the method is worse than the best at the 5 % level.
func (a *Against) Significant() bool { return a != nil && a.Holm < 0.05 }

// Line is one method over all its seeds.
type Line struct {
	Method  string
	Seconds metrics.Spread      // of its cells
	Floored *metrics.Floored    // of the seed whose floored rows bear most; nil where none has any
	Kept    string              // with how many seeds the method keeps the classifier; "" with none
	Against map[string]*Against // by the key of LCE, NLL and metrics from outside; nil for the best itself
	row     *row
}

// floored are those of the seed whose floored rows bear most; nil where none has any.
func (r *row) floored() (most *metrics.Floored) {
	for _, result := range r.results {
		if f := result.Floored; f != nil && (most == nil || f.Share > most.Share) {
			most = f
		}
	}
	return most
}

// kept says with how many seeds the fits of the row keep the classifier as it is, "" with none.
func (r *row) kept() string {
	var keeping []*Result
	for _, result := range r.results {
		if result.Kept != "" {
			keeping = append(keeping, result)
		}
	}
	switch {
	case keeping == nil:
		return ""
	case len(r.results) == 1:
		return keeping[0].Kept
	}
	return fmt.Sprintf("with %d of %d seeds %s (seed %d)", len(keeping), len(r.results), keeping[0].Kept, keeping[0].Spec.Seed)
}

// Kept are the rows whose fits keep the classifier, in one sentence each.
func (f *Findings) Kept() (all []string) {
	for _, s := range f.subjects() {
		for _, r := range s.rows {
			if text := r.kept(); text != "" {
				all = append(all, s.Title()+": "+text)
			}
		}
	}
	return all
}

// Lines are the methods of a comparison that have a result, the least NLL first.
func (f *Findings) Lines() (lines []Line) {
	for _, s := range f.shown() {
		s.rows = slices.DeleteFunc(s.rows, func(r *row) bool { return r.results == nil })
		first := len(lines)
		for _, r := range s.rows {
			lines = append(lines, Line{Method: f.called(r), Floored: r.floored(), Kept: r.kept(), Against: map[string]*Against{}, row: r,
				Seconds: r.spread(quantity{value: func(r *Result) float64 { return r.Time }})})
		}
		for _, q := range f.testedBy() {
			best := s.best(q)
			if best == nil {
				continue
			}
			for i, a := range f.differences(s, best, q) {
				if a != nil {
					lines[first+i].Against[q.key] = a
				}
			}
		}
	}
	return lines
}

// marksNote is of the marks.
const marksNote = "best of a column in bold, second underlined. † worse than the best of its column by more than chance (in pairs on the test rows, Holm-corrected, 5 %)."

// improvements are what a method takes off the NLL and the Brier score of the classifier on the same test rows, the
// post-hoc improvement (PHI) by which CalArena ranks methods (Berta et al. 2026): S(classifier) − S(method). There are
// none without the classifier.
func (f *Findings) improvements() (all []quantity) {
	classifier := map[string]*Result{} // by its test rows
	for _, r := range f.Results {
		if r != nil && r.Spec.Method == verdict.Classifier {
			classifier[r.TestDigest] = r
		}
	}
	if len(classifier) == 0 {
		return nil
	}
	for _, m := range []metrics.Metric{metrics.NLL, metrics.Brier} {
		score := sharedMetric(m)
		all = append(all, quantity{metric: m, key: "phi_" + score.key, title: "PHI " + score.title, unranked: true, value: func(r *Result) float64 {
			if before := classifier[r.TestDigest]; before != nil {
				return score.value(before) - score.value(r)
			}
			return nan
		}})
	}
	return all
}

// note says what the marks and columns of a table of results mean.
func (f *Findings) note() string {
	if f.improvements() == nil {
		return marksNote
	}
	return marksNote + " PHI is the post-hoc improvement: the score of the classifier minus the score of the method, so above 0 is better."
}

// Compared is Results with a dagger beside the LCE and NLL of a method that is significantly
// worse than the best, and the bars.
func Compared(f *Findings) *report.Section {
	lines, verdicts := f.Lines(), f.Verdicts()
	columns := slices.Concat(f.resultColumns(), f.improvements(), f.others())
	t := f.table("Mean ± standard deviation over the seeds. The lowest NLL above; marked is the method to go on with, where the rows can tell; "+f.note(), columns)
	rows := t.Blocks[0].Rows[:0]
	for _, row := range t.Blocks[0].Rows { // of a method that failed there is nothing to show
		row.Winner = len(verdicts) > 0 && verdicts[0].Chooses(row.Labels[0])
		if slices.ContainsFunc(lines, func(l Line) bool { return l.Method == row.Labels[0] }) {
			rows = append(rows, row)
		}
	}
	t.Blocks[0].Rows = rows
	for i, l := range lines {
		for _, of := range f.testedBy() {
			if l.Against[of.key].Significant() {
				j := slices.IndexFunc(columns, func(q quantity) bool { return q.key == of.key && !q.own })
				rows[i].Cells[j].Text += "†"
			}
		}
	}
	section := &report.Section{Title: "Results", Note: f.resultsNote(), Tables: []*report.Table{t}}
	if folds := f.CrossFitted(); folds != "" {
		section.Note = folds + " Local metrics are measured in one embedding of all rows (PCA of the standardized features)."
	}
	s := f.shown()[0]
	in := strings.Join(data.Each(f.embeddings(), func(in embedding) string { return in.words }), " and in ")
	section.Figures = []*report.Drawing{
		{Name: "local", Figure: report.Bars(slices.Concat(s.localBars(f, metrics.LCE), s.localBars(f, metrics.MLCE))),
			Caption: "LCE and MLCE in " + in + ", on one scale; black ticks are the noise floor, what a perfectly calibrated model would show."},
		{Name: "global", Figure: report.Bars(s.globalBars()), Caption: "ECCE, and NLL on an axis that does not begin at 0; black ticks are the noise floor."},
	}
	return section
}

// interval is the mean over the row's seeds of their bounds, NaN where there are none.
func (r *row) interval(key string) metrics.Interval {
	bound := func(end func(metrics.Interval) float64) float64 {
		return r.spread(quantity{value: func(r *Result) float64 { return end(intervalOf(r.Intervals, key)) }}).Mean
	}
	return metrics.Interval{Low: bound(func(i metrics.Interval) float64 { return i.Low }), High: bound(func(i metrics.Interval) float64 { return i.High })}
}

// intervalOf is that of the key, NaN where there is none.
func intervalOf(all map[string]metrics.Interval, key string) metrics.Interval {
	if i, ok := all[key]; ok {
		return i
	}
	return metrics.Interval{Low: nan, High: nan}
}

// intervalsTable is the table of 95 % intervals, local metrics in the shared embedding.
func intervalsTable(f *Findings) *report.Section {
	held := []metrics.Metric{metrics.LCE, metrics.MLCE, metrics.ECCE, metrics.ECE, metrics.Accuracy, metrics.NLL, metrics.Brier}
	shown := append(data.Each(held, sharedMetric), f.others()...)
	heads := data.Each(shown, func(q quantity) report.Head { return report.Head{Text: q.title} })
	return f.lineTable("Intervals", "95 % bootstrap intervals over the test rows, the mean of the seeds' intervals; local metrics in the shared embedding.", heads, func(l Line) []report.Cell {
		return data.Each(shown, func(q quantity) report.Cell {
			i := l.row.interval(q.key)
			if math.IsNaN(i.Low) {
				return report.Cell{Text: "–"}
			}
			return report.Cell{Text: fmt.Sprintf("%.4f – %.4f", i.Low, i.High)}
		})
	})
}

// differencesTable is the table of the paired comparisons with the best method.
func differencesTable(f *Findings) *report.Section {
	var heads []report.Head
	for _, q := range f.testedBy() {
		heads = append(heads, report.Heads(q.title+" difference", "interval", "p")...)
	}
	return f.lineTable("Differences", "Difference to the method of the lowest NLL on the same test rows (below 0 is better), its 95 % interval, and the p-value of no difference, Holm-corrected.", heads, func(l Line) (cells []report.Cell) {
		for _, q := range f.testedBy() {
			a := l.Against[q.key]
			if a == nil {
				cells = append(cells, report.Texts("–", "–", "–")...)
				continue
			}
			cells = append(cells, report.Texts(metrics.Signed(a.Difference, 5), a.Interval.Signed(5), verdict.P(a.Holm))...)
		}
		return cells
	})
}

// lineTable is a section of one table, a method a row.
func (f *Findings) lineTable(title, caption string, heads []report.Head, cells func(Line) []report.Cell) *report.Section {
	t := &report.Table{Caption: caption, Labels: []string{"Method"}, Values: heads}
	for _, l := range f.Lines() {
		t.Add(f.subjects()[0].Title(), report.Row{Labels: []string{l.Method}, Cells: cells(l)})
	}
	return &report.Section{Title: title, Tables: []*report.Table{t}}
}

// writeValues writes one line for each metric of each cell in each embedding.
func writeValues(f *Findings, out io.Writer) error {
	lines := [][]string{{"method", "seed", "embedding", "metric", "value", "low", "high", "commit"}}
	digits := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	for i, c := range f.Cells {
		r := f.Results[i]
		if r == nil {
			continue
		}
		add := func(embedding string, values map[string]float64, intervals map[string]metrics.Interval, key string) {
			v, ok := values[key]
			if !ok {
				return
			}
			interval := intervalOf(intervals, key)
			lines = append(lines, []string{f.Study.Vary[0].Of(c.Spec), strconv.FormatUint(c.Spec.Seed, 10), embedding, key, digits(v), digits(interval.Low), digits(interval.High), r.Program.Commit})
		}
		for _, q := range f.measured() {
			add("shared", r.Shared, r.Intervals, q.key)
			add("own", r.Own, r.OwnIntervals, q.key)
		}
		for _, q := range f.improvements() {
			if v := q.value(r); !math.IsNaN(v) {
				add("shared", map[string]float64{q.key: v}, nil, q.key)
			}
		}
	}
	return data.WriteCSV(out, lines)
}

// summaryValue, methodSummary and summary are a comparison as metrics.json has it.
type (
	summaryValue struct {
		metrics.Spread
		CI *[2]float64 `json:"ci,omitempty"`
	}
	methodSummary struct {
		Metrics map[string]summaryValue `json:"metrics"`
		Own     map[string]summaryValue `json:"own_embedding,omitempty"`
		Against map[string]*Against     `json:"against_best,omitempty"`
		Kept    string                  `json:"classifier_kept,omitempty"`
	}
	summary struct {
		Protocol metrics.Protocol         `json:"protocol"`
		Split    data.Holdout             `json:"split"`
		Seeds    []uint64                 `json:"seeds"`
		Methods  map[string]methodSummary `json:"methods"`
		Failures map[string]string        `json:"failures,omitempty"`
	}
)

// summary is that of one method.
func (f *Findings) summary(l Line) methodSummary {
	one := methodSummary{Metrics: map[string]summaryValue{}, Own: map[string]summaryValue{}, Against: l.Against, Kept: l.Kept}
	for _, q := range append(f.measured(), f.improvements()...) {
		v := summaryValue{Spread: l.row.spread(q)}
		if math.IsNaN(v.Mean) {
			continue
		}
		if i := l.row.interval(q.key); !math.IsNaN(i.Low) {
			v.CI = &[2]float64{i.Low, i.High}
		}
		one.Metrics[q.key] = v
		if l.row.results[0].Own != nil && q.metric.Local() {
			one.Own[q.key] = summaryValue{Spread: l.row.spread(ownEmbedding.metric(q.metric))}
		}
	}
	return one
}

// writeSummary writes the means, intervals and differences of all methods.
func writeSummary(f *Findings, out io.Writer) error {
	all := summary{
		Protocol: f.measuring().Protocol, Split: cmp.Or(f.Settings.Split, "as each method needs"), Seeds: f.Settings.Seeds,
		Methods: map[string]methodSummary{}, Failures: map[string]string{},
	}
	for _, l := range f.Lines() {
		all.Methods[l.Method] = f.summary(l)
	}
	for _, fail := range f.Failures {
		all.Failures[fmt.Sprintf("%s/%d", fail.Method, fail.Seed)] = fail.Err.Error()
	}
	to := json.NewEncoder(out)
	to.SetIndent("", "  ")
	return to.Encode(all)
}

package study

import (
	"context"
	"fmt"
	"math"
	"slices"

	"calibra/experiments/metrics"
	"calibra/experiments/report"
)

// comparison is the reference against another row on one data set: NLL of the row less the reference's.
type comparison struct {
	row *row
	*paired
}

// judgedMethods are those that the study is about, the first of them that was run.
var judgedMethods = []string{"stacked", "auto"}

// judged is the row of the method that the study is about, nil if it was not run.
func (s *subject) judged() *row {
	for _, name := range judgedMethods {
		if r := s.row(name); r != nil {
			return r
		}
	}
	return nil
}

// reference is the row that others are compared with: the judged one, or else that of the
// lowest mean NLL; nil if there is none.
func (s *subject) reference() *row {
	if judged := s.judged(); judged != nil {
		return judged
	}
	return s.best(sharedMetric(metrics.NLL))
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

func (s *subject) row(method string) *row {
	if i := slices.IndexFunc(s.rows, func(r *row) bool { return r.spec.Method == method && len(r.results) > 0 }); i >= 0 {
		return s.rows[i]
	}
	return nil
}

// compared compares each row with the reference on the same test rows of s.
func (f *Findings) compared(ctx context.Context, s *subject) ([]comparison, error) {
	reference := s.reference()
	if reference == nil {
		return nil, nil
	}
	all, err := f.differences(ctx, s, reference, sharedMetric(metrics.NLL))
	var out []comparison
	for i, p := range all {
		if p != nil {
			out = append(out, comparison{s.rows[i], p})
		}
	}
	return out, err
}

// pairedNLL compares each row with the reference, the first of the table, on the same test rows.
func pairedNLL(ctx context.Context, f *Findings) (*report.Section, error) {
	t := &report.Table{
		Caption: "NLL less that of the first row: below 0 is better; mean over the seeds, and p-value after Holm's correction over the settings of a data set.",
		Labels:  f.heads(), Values: report.Heads("difference", "relative", "p"),
	}
	for _, s := range f.subjects() {
		all, err := f.compared(ctx, s)
		if err != nil {
			return nil, err
		}
		if len(all) == 0 {
			continue
		}
		judged := s.reference()
		add := func(r *row, cells ...any) {
			t.Add(s.Title(), report.Row{Labels: r.labels, Winner: r == s.best(sharedMetric(metrics.NLL)), Cells: report.Texts(cells...)})
		}
		add(judged, "–", "–", "–")
		for _, c := range all {
			add(c.row, metrics.Signed(c.Difference, 4), percent(c.Difference/judged.spread(sharedMetric(metrics.NLL)).Mean), report.P(c.corrected))
		}
	}
	return &report.Section{
		Title:  "Paired differences",
		Note:   "Each setting is compared with the first of the table, the study's own method or else the one of the lowest NLL. A paired bootstrap over the rows of the data, each with its losses of all seeds that test it, gives the p-value of no difference between the models of these seeds. How much another seed's model would differ is not in it, but in the standard deviations over the seeds.",
		Tables: []*report.Table{t},
	}, nil
}

func percent(x float64) string { return metrics.Signed(100*x, 1) + " %" }

// baselines are the judged method's comparisons on a data set.
type baselines struct {
	subject      *subject
	vq, ts, best *comparison
	nc           *row
}

// baselines is nil where one of them was not run.
func (f *Findings) baselines(ctx context.Context, s *subject) (*baselines, error) {
	if s.judged() == nil {
		return nil, nil
	}
	all, err := f.compared(ctx, s)
	if err != nil {
		return nil, err
	}
	against := func(method string) *comparison {
		if i := slices.IndexFunc(all, func(c comparison) bool { return c.row.spec.Method == method }); i >= 0 {
			return &all[i]
		}
		return nil
	}
	vq, ts, nc := against("vq"), against("ts"), against("nc")
	if vq == nil || ts == nil || nc == nil {
		return nil, nil
	}
	best, nll := vq, sharedMetric(metrics.NLL)
	for i, c := range all {
		if published(f.Settings.Catalog, c.row.spec.Method) && c.row.spread(nll).Mean < best.row.spread(nll).Mean {
			best = &all[i]
		}
	}
	return &baselines{subject: s, vq: vq, ts: ts, best: best, nc: nc.row}, nil
}

// accepted holds the judged method to what a map beyond the paper must show on every
// data set: an NLL below VQ's and TS's, none worse than the best baseline's, and no
// accuracy lost.
func accepted(ctx context.Context, f *Findings) (*report.Section, error) {
	var lines []*baselines
	var named, others []float64 // p against VQ and TS, and against the best baseline
	for _, s := range f.subjects() {
		l, err := f.baselines(ctx, s)
		if err != nil {
			return nil, err
		}
		if l != nil {
			lines, named, others = append(lines, l), append(named, l.vq.PValue, l.ts.PValue), append(others, l.best.PValue)
		}
	}
	if lines == nil {
		return nil, nil
	}
	named, others = metrics.Holm(named), metrics.Holm(others)
	name := title(lines[0].subject.judged().spec)
	t := &report.Table{
		Caption: fmt.Sprintf("NLL of %s relative to VQ, to TS and to the best baseline, with p after Holm's correction; its share of wrong rows less that of the uncalibrated model. Below 0 it is the better one.", name),
		Labels:  []string{"Data"},
		Values:  report.Heads("against VQ", "p", "against TS", "p", "best baseline", "against it", "p", "errors − NC", "s.e."),
	}
	nll, accuracy := sharedMetric(metrics.NLL), sharedMetric(metrics.Accuracy)
	relative := func(c *comparison) string { return percent(-c.Difference / c.row.spread(nll).Mean) } // the judged less the other
	for i, l := range lines {
		base := l.nc.spread(accuracy).Mean
		t.Add("", report.Row{Labels: []string{l.subject.Title()}, Cells: report.Texts(
			relative(l.vq), report.P(named[2*i]), relative(l.ts), report.P(named[2*i+1]),
			title(l.best.row.spec), relative(l.best), report.P(others[i]),
			metrics.Signed(base-l.subject.judged().spread(accuracy).Mean, 4),
			fmt.Sprintf("%.4f", math.Sqrt(base*(1-base)/float64(l.nc.results[0].TestRows))))})
	}
	return &report.Section{
		Title:  name + " against the baselines",
		Note:   "The baselines are the methods that others have published and the paper's own. The p-values are those of the paired differences, corrected over all comparisons with VQ and TS in the table, and over all with the best baseline. The standard error is that of the uncalibrated model's accuracy on the test rows of one seed.",
		Tables: []*report.Table{t},
	}, nil
}

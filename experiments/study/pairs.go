package study

import (
	"context"
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

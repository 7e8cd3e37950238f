package study

import (
	"cmp"
	"fmt"
	"strings"

	"calibra/data"
	"calibra/experiments/metrics"
	"calibra/experiments/report"
)

// localBars are the figures of Q1.
var localBars = figures("Local calibration (Q1)",
	"Lower is better. Dots are the seeds, error bars one standard deviation where they are many. The black ticks are the noise floor: what the metric shows, in the same embedding, of a perfectly calibrated model with these predictions, whose labels are redrawn from them.",
	func(f *Findings, s *subject) []*report.Drawing {
		f.rank(s)
		lce, mlce := s.localBars(f, metrics.LCE), s.localBars(f, metrics.MLCE)
		var drawings []*report.Drawing
		for k, in := range f.embeddings() {
			drawings = append(drawings, s.drawing("q1-"+cmp.Or(strings.TrimPrefix(in.suffix, "_"), "shared"), "LCE and MLCE of %s in "+in.words+".",
				report.Bars([]report.BarPanel{lce[k], mlce[k]}))...)
		}
		return drawings
	})

// localBars are panels of a local metric, one an embedding, on one scale.
func (s *subject) localBars(f *Findings, m metrics.Metric) (panels []report.BarPanel) {
	top := 0.
	for _, in := range f.embeddings() {
		panel := s.bars(in.under(m.Title())+": "+s.Title(), in.metric(m), noiseOf(m, in))
		for _, bar := range panel.Bars {
			top = max(top, bar.Reach())
		}
		panels = append(panels, panel)
	}
	for k := range panels {
		panels[k].Top = top
	}
	return panels
}

// globalBars are panels of ECCE and NLL.
func (s *subject) globalBars() []report.BarPanel {
	return data.Each([]metrics.Metric{metrics.ECCE, metrics.NLL}, func(m metrics.Metric) report.BarPanel {
		return s.bars(fmt.Sprintf("%s: %s", m.Title(), s.Title()), sharedMetric(m), noiseOf(m, sharedEmbedding))
	})
}

// globalBars are the figures of Q3.
var globalBars = figures("Global calibration (Q3)", "Lower is better; dots are the seeds, black ticks the noise floor.", func(f *Findings, s *subject) []*report.Drawing {
	f.rank(s)
	return s.drawing("q3", "ECCE and NLL of %s.", report.Bars(s.globalBars()))
})

// bars is a panel of the subject's rows, a tick at the floor of errors that are never 0.
func (s *subject) bars(title string, q, floor quantity) report.BarPanel {
	panel, best := report.BarPanel{Title: title}, s.best(sharedMetric(metrics.NLL))
	if q.metric == metrics.NLL { // no value of which is 0: bars from there would look alike
		panel.Marks = report.DotsFromLeast
	}
	for _, r := range s.rows {
		v := r.spread(q)
		bar := report.Bar{Name: r.name(), Winner: r == best, Mean: v.Mean, SD: v.SD, Seeds: r.values(q), Floor: nan}
		if q.metric != metrics.NLL { // whose floor is the entropy of the predictions, and no error
			bar.Floor = r.spread(floor).Mean
		}
		panel.Bars = append(panel.Bars, bar)
	}
	return panel
}

// name is what figures call the row: its label, by which the page shows and hides it, where
// one field distinguishes rows.
func (r *row) name() string {
	if len(r.labels) == 1 {
		return r.labels[0]
	}
	return title(r.spec)
}

// noiseFloor is the table of what is left of each metric above its noise floor.
var noiseFloor = tables("Noise floor",
	"A finite sample makes even a perfectly calibrated model look wrong. Noise is the value of each metric for labels redrawn from the model's own predictions; local metrics have one in the model's own embedding and one in the shared one. The excess over it is miscalibration. A sharper model has a lower floor, so raw values of different models do not compare their calibration alone.",
	func(f *Findings) []*report.Table {
		var columns []quantity
		if in := f.embeddings()[0]; in.suffix != "" {
			for _, m := range []metrics.Metric{metrics.LCE, metrics.MLCE} {
				own, floor := in.metric(m), noiseOf(m, in)
				own.title += " own"
				floor.title = own.title + " noise"
				columns = append(columns, floor, above(own, floor))
			}
		}
		for _, m := range []metrics.Metric{metrics.LCE, metrics.MLCE, metrics.ECCE, metrics.ECE} {
			floor := noiseOf(m, sharedEmbedding)
			columns = append(columns, floor, above(sharedMetric(m), floor))
		}
		for _, q := range f.others() {
			floor := quantity{metric: q.metric, title: q.title + " noise", unranked: true, value: func(r *Result) float64 { return at(r.Noise, q.key) }}
			columns = append(columns, floor, above(q, floor))
		}
		return []*report.Table{f.table("Noise floor of each metric, and what exceeds it.", columns)}
	})

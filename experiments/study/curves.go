package study

import (
	"math"
	"slices"
	"strconv"

	"calibra/experiments/method"
	"calibra/experiments/metrics"
	"calibra/experiments/report"
)

// sizeCurves show LCE and NLL along the size of the calibration set.
var sizeCurves = figures("Along the size of the calibration set",
	"Fitted on a stratified part of the calibration rows; validation rows, test rows and the shared embedding stay the same.",
	func(f *Findings, s *subject) []*report.Drawing {
		places := map[float64]string{}
		for _, c := range f.Cells {
			places[100*fraction(c.Spec)] = strconv.FormatFloat(100*fraction(c.Spec), 'g', 3, 64)
		}
		var panels []report.LinePanel
		add := func(title string, q quantity) {
			panels = append(panels, report.LinePanel{
				Title: title + ": " + s.Title(), X: "calibration rows fitted on, %", Y: q.title, Log: true, Places: places, Series: s.alongRows(q),
			})
		}
		for _, in := range f.embeddings() {
			add(in.under(metrics.LCE.Title()), in.metric(metrics.LCE))
		}
		add(metrics.NLL.Title(), sharedMetric(metrics.NLL))
		drawn := func(line report.Series) bool { // the local metrics of rows without features, or of very few rows, are not
			return slices.ContainsFunc(line.Mean, func(v float64) bool { return !math.IsNaN(v) })
		}
		panels = slices.DeleteFunc(panels, func(p report.LinePanel) bool { return !slices.ContainsFunc(p.Series, drawn) })
		return s.drawing("calsize", "LCE and NLL of %s for various sizes of the calibration set.", report.Lines(panels))
	})

// alongRows are a line a method, along the share of the calibration rows.
func (s *subject) alongRows(q quantity) []report.Series {
	var out []report.Series
	for _, r := range s.rows {
		v, line := r.spread(q), lineOf(&out, r.spec.Catalog, r.spec.Method)
		line.X, line.Mean, line.SD = append(line.X, 100*fraction(r.spec)), append(line.Mean, v.Mean), append(line.SD, v.SD)
		line.Seeds = append(line.Seeds, r.values(q))
	}
	return out
}

// lineOf is the line of a method among all, which it joins where it is not there.
func lineOf(all *[]report.Series, c *method.Catalog, name string) *report.Series {
	k := slices.IndexFunc(*all, func(line report.Series) bool { return line.Name == c.Title(name) })
	if k < 0 {
		k = len(*all)
		*all = append(*all, report.Series{Name: c.Title(name), Ours: name == tableOrder[0], Style: style(c, name)})
	}
	return &(*all)[k]
}

package study

import (
	"io"

	"calibra/data"
	"calibra/experiments/metrics"
	"calibra/experiments/report"
	"calibra/experiments/run"
	"calibra/experiments/verdict"
)

// gain is what a contender changes on a source: the NLL on its test rows less that of the classifier, paired over
// rows and seeds.
type gain struct {
	source     string
	classifier float64 // its NLL
	*paired
}

// gains by source of one contender, p corrected by Holm over the sources.
func (f *Findings) gainsOf(spec run.Spec) (all []gain) {
	for _, s := range f.subjects() {
		reference := s.row(verdict.Classifier)
		if reference == nil {
			continue
		}
		differences := f.differences(s, reference, sharedMetric(metrics.NLL))
		for i, r := range s.rows {
			if contender(r.spec) == contender(spec) && differences[i] != nil {
				one := *differences[i]
				all = append(all, gain{s.Title(), reference.spread(sharedMetric(metrics.NLL)).Mean, &one})
			}
		}
	}
	adjust(data.Each(all, func(g gain) *paired { return g.paired }))
	return all
}

// gains is the picture of what the contenders change, in percent of the classifier's NLL, and its numbers.
func gains(f *Findings) *report.Section {
	section := &report.Section{Title: "Against the classifier as it is",
		Note: "Change of the classifier's NLL on test rows, in percent, with 95 % intervals over rows and seeds; p after Holm's correction over the sources."}
	var drawn []report.Gains
	for _, spec := range gainers {
		all := f.gainsOf(spec)
		if all == nil {
			continue
		}
		changes := report.Gains{Method: contender(spec), Ours: contender(spec) == contender(gainers[0])}
		t := &report.Table{Caption: contender(spec) + " against the classifier.", Labels: []string{"Source"}, Values: report.Heads("NLL of the classifier", "difference", "interval", "p")}
		for _, g := range all {
			scale := 100 / g.classifier
			changes.Sources = append(changes.Sources, report.Gain{Source: g.source, Change: scale * g.Difference, Low: scale * g.Interval.Low, High: scale * g.Interval.High})
			t.Add("", report.Row{Labels: []string{g.source}, Cells: report.Texts(alone(g.classifier, metrics.NLL),
				metrics.Signed(g.Difference, 4), g.Interval.Signed(4), verdict.P(g.holm))})
		}
		drawn = append(drawn, changes)
		section.Tables = append(section.Tables, t)
	}
	if drawn == nil {
		return nil
	}
	section.Figures = []*report.Drawing{{Name: "gain", Figure: report.DrawGains(drawn),
		Caption: "Change of NLL against the classifier as it is, source by source, with 95 % intervals over test rows and seeds; below 0 is better."}}
	return section
}

// writeGains writes the differences of the shown contenders to the classifier.
func writeGains(f *Findings, out io.Writer) error {
	lines := [][]string{{"method", "members", "data", "nll_nc", "difference", "low", "high", "p_holm"}}
	for _, spec := range gainers {
		for _, g := range f.gainsOf(spec) {
			lines = append(lines, []string{spec.Method, members(spec), g.source, number(g.classifier), number(g.Difference), number(g.Interval.Low), number(g.Interval.High), number(g.holm)})
		}
	}
	return data.WriteCSV(out, lines)
}

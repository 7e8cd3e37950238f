package study

import (
	"fmt"
	"slices"
	"strings"

	"calibra/experiments/metrics"
	"calibra/experiments/report"
	"calibra/experiments/verdict"
)

// reliabilityDiagrams show the top class's confidence against its hits, and what is taken for what.
func reliabilityDiagrams(f *Findings) *report.Section {
	section := &report.Section{Title: "Reliability", Note: "Frequency of hits against the confidence of the top class in 15 bins, the mean over the seeds. Bars are 95 % Clopper–Pearson intervals of as many rows as one seed tests, grey bars the share of the rows in each bin; ECE is the mean gap of these bins."}
	for _, s := range f.subjects() {
		for _, p := range f.portraits(s) {
			section.Figures, section.Tables = append(section.Figures, p.Figures...), append(section.Tables, p.Tables...)
		}
		var diagrams []report.Diagram
		for _, r := range s.rows {
			var curves []*metrics.Curve
			for _, res := range r.results {
				c := &metrics.Curve{}
				for _, b := range res.Bins {
					c.Count, c.Confidence, c.Frequency = append(c.Count, b.Count), append(c.Confidence, b.Confidence), append(c.Frequency, b.Accuracy)
				}
				curves = append(curves, c)
			}
			if curves != nil {
				diagrams = append(diagrams, report.Diagram{Name: r.name(), Curve: metrics.PoolCurves(curves)})
			}
		}
		if diagrams != nil {
			section.Figures = append(section.Figures, s.drawing("reliability", "Reliability diagrams of %s.", report.Diagrams(diagrams))...)
		}
	}
	return section
}

// portraits are what the classifier and the method of least NLL look like, and what the latter takes for what, of
// the first seed; nil where that was not measured.
func (f *Findings) portraits(s *subject) []*report.Section {
	shown, names := f.seen(s, s.best(sharedMetric(metrics.NLL)))
	if shown == nil {
		return nil
	}
	sections, on := report.Portraits(shown, names), fmt.Sprintf(" On %s, of the first seed.", s.Title())
	for _, section := range sections {
		for _, d := range section.Figures {
			d.Name, d.Caption = d.Name+"-"+s.slug(), d.Caption+on
		}
		for _, t := range section.Tables {
			t.Caption += on
		}
	}
	return sections
}

// seen are what the classifier and another row look like, of the first seed; nil where that was not measured.
func (f *Findings) seen(s *subject, after *row) (shown []report.Shown, names report.Names) {
	for _, r := range []*row{s.row(verdict.Classifier), after} {
		if r == nil || len(r.results) == 0 || r.results[0].Reliability == nil || len(shown) > 0 && r.spec.Method == verdict.Classifier {
			continue
		}
		shown, names = append(shown, report.Shown{Name: r.name(), Portrait: r.results[0].Portrait}), r.results[0].names()
	}
	return shown, names
}

// card is that of the verdict of a comparison, with what it chooses or else the method of least NLL; nil where it is
// not known how that looks.
func (f *Findings) card() *report.Drawing {
	verdicts := f.Verdicts()
	if verdicts == nil {
		return nil
	}
	s, v := f.subjects()[0], verdicts[0]
	after := s.best(sharedMetric(metrics.NLL))
	if at := slices.IndexFunc(s.rows, func(r *row) bool { return v.Say == verdict.Use && f.called(r) == v.Method }); at >= 0 {
		after = s.rows[at]
	}
	shown, names := f.seen(s, after)
	if shown == nil {
		return nil
	}
	return report.NewCard(v, shown, names, f.Shares[s.origin])
}

// shiftNote names the shift that each data set was judged under.
func shiftNote(f *Findings) *report.Section {
	var lines []string
	for _, s := range f.subjects() {
		for _, r := range s.rows {
			text := s.Title() + ", " + r.spec.Shift.Line()
			if r.spec.Shift.Line() != "" && !slices.Contains(lines, text) {
				lines = append(lines, text)
			}
		}
	}
	if lines == nil {
		return nil
	}
	return &report.Section{
		Title: "The shift",
		Note:  "Methods are fitted and stopped on rows in distribution and judged on shifted rows: " + strings.Join(lines, "; ") + ".",
	}
}

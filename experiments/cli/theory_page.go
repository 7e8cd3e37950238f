package cli

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"calibra/experiments/metrics"
	"calibra/experiments/report"
	"calibra/theory"
	"calibra/theory/studies"
)

// theoryPage is the report of theory studies: their tables of quantities, and their figures
// with the 95 % intervals of what was measured.
func theoryPage(reports []*theory.Report) *report.Document {
	d := &report.Document{Title: "Convergence studies", Intro: "The paper's convergence claims, checked numerically. A quantity with a band passes if its value lies in the band."}
	var rows []theory.Row
	for _, r := range reports {
		section := &report.Section{Title: r.Study, Note: r.Claim}
		section.Tables, rows = []*report.Table{claims(r)}, append(rows, r.Rows...)
		for _, f := range r.Figures {
			section.Figures = append(section.Figures, &report.Drawing{Name: r.Study + "-" + f.Name, Caption: f.Title + ".", Figure: Curves(f)})
		}
		for _, quantity := range r.Failures() {
			d.Failures = append(d.Failures, fmt.Sprintf("%s: %s is outside its band", r.Study, quantity))
		}
		d.Sections = append(d.Sections, section)
	}
	judged, passed := theory.Judged(rows)
	d.Intro += fmt.Sprintf(" %d of %d do.", passed, judged)
	d.Verdict = []report.Statement{{Lines: studies.Held(reports)}}
	return d
}

// claims is a study's quantities with their verdicts.
func claims(r *theory.Report) *report.Table {
	t := &report.Table{Caption: fmt.Sprintf("Seed %d.", r.Seed), Labels: []string{"Quantity"}, Values: []report.Head{
		{Text: "value"}, {Text: "95 % interval", Drop: 2}, {Text: "theory", Wrap: true, Drop: 3}, {Text: "band", Wrap: true},
		{Text: "would notice", Wrap: true, Drop: 1}, {Text: "verdict"},
	}}
	for _, row := range r.Rows {
		said := report.Cell{Text: row.Verdict()}
		if said.Text == "FAIL" {
			said.Mark = metrics.Best // in bold
		}
		value := strconv.FormatFloat(row.Value, 'g', 4, 64)
		cells := report.Texts(value, row.Interval(), row.Theory, row.Band.String(), row.Power())
		t.Add("", report.Row{Labels: []string{row.Quantity}, Cells: append(cells, said)})
	}
	return t
}

// Curves draws a figure of a theory study: what was measured in the order of colours, what the theory predicts
// dashed, each prediction with dashes and marks of its own.
func Curves(f theory.Figure) *report.Figure {
	panel := report.LinePanel{Title: f.Title, X: f.XLabel, Y: f.YLabel, Log: f.LogX, LogY: f.LogY}
	measured, predicted := 0, 0
	for _, c := range f.Curves {
		// The font of figures has no ∝.
		s := report.Series{Name: strings.ReplaceAll(c.Label, "∝", "~"), X: c.X, Mean: c.Y, Low: c.Low, High: c.High}
		switch c.Style {
		case theory.Prediction:
			s.Kind = report.Prediction
			if c.Label != "" { // one without a label goes on with the one before
				predicted++
			}
			s.Style = max(0, predicted-1)
		case theory.Marks:
			s.Kind = report.Marks
			fallthrough
		default:
			s.Ours = measured == 0
			s.Style = max(0, measured-1)
			measured++
		}
		panel.Series = append(panel.Series, s)
	}
	if !f.LogX {
		panel.Places = integerPlaces(panel.Series)
	}
	return report.Lines([]report.LinePanel{panel})
}

// integerPlaces names the series' X where all of them are integers, such as the numbers of
// problems; nil where they are not, or are too many to be named.
func integerPlaces(series []report.Series) map[float64]string {
	const most = 10
	places := map[float64]string{}
	for _, s := range series {
		for _, x := range s.X {
			if x != math.Round(x) || len(places) > most {
				return nil
			}
			places[x] = fmt.Sprintf("%.0f", x)
		}
	}
	return places
}

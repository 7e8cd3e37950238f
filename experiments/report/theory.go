package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"calibra/experiments/metrics"
	"calibra/theory"
)

// Theory is the report of theory studies: their tables of quantities, and their figures
// with the 95 % intervals of what was measured.
func Theory(reports []*theory.Report) *Document {
	d := &Document{Title: "Convergence studies", Intro: "The paper's convergence claims, checked numerically. A quantity with a band passes if its value lies in the band."}
	var rows []theory.Row
	for _, r := range reports {
		section := &Section{Title: r.Study, Note: r.Claim}
		section.Tables, rows = []*Table{Claims(r)}, append(rows, r.Rows...)
		for _, f := range r.Figures {
			section.Figures = append(section.Figures, &Drawing{Name: r.Study + "-" + f.Name, Caption: f.Title + ".", Figure: Curves(f)})
		}
		for _, quantity := range r.Failures() {
			d.Failures = append(d.Failures, fmt.Sprintf("%s: %s is outside its band", r.Study, quantity))
		}
		d.Sections = append(d.Sections, section)
	}
	judged, passed := theory.Judged(rows)
	d.Intro += fmt.Sprintf(" %d of %d do.", passed, judged)
	d.Verdict = []Statement{{Lines: Held(reports)}}
	return d
}

// Claims is a study's quantities with their verdicts.
func Claims(r *theory.Report) *Table {
	t := &Table{Caption: fmt.Sprintf("Seed %d.", r.Seed), Labels: []string{"Quantity"}, Values: []Head{{Text: "value"},
		{Text: "95 % interval", Drop: 2}, {Text: "theory", Wrap: true, Drop: 3}, {Text: "band", Wrap: true}, {Text: "verdict"}}}
	for _, row := range r.Rows {
		said := Cell{Text: row.Verdict()}
		if said.Text == "FAIL" {
			said.Mark = metrics.Best // in bold
		}
		value := strconv.FormatFloat(row.Value, 'g', 4, 64)
		t.Add("", Row{Labels: []string{row.Quantity}, Cells: append(Texts(value, row.Interval(), row.Theory, row.Band.String()), said)})
	}
	return t
}

// Held is the verdict on theory studies: that all bands hold, or which do not.
func Held(reports []*theory.Report) []string {
	const most = 5
	bands := 0
	var failed []string
	for _, r := range reports {
		for _, row := range r.Rows {
			if row.Verdict() == "FAIL" {
				failed = append(failed, fmt.Sprintf("%s: %s is %s, outside %s.", r.Study, row.Quantity, strconv.FormatFloat(row.Value, 'g', 4, 64), row.Band))
			}
		}
		judged, _ := theory.Judged(r.Rows)
		bands += judged
	}
	switch {
	case bands == 0:
		return []string{"No quantity has a band, so there is nothing to hold or fail."}
	case failed == nil && bands == 1:
		return []string{"The one band holds."}
	case failed == nil:
		return []string{fmt.Sprintf("All %d bands hold.", bands)}
	}
	lines := append([]string{fmt.Sprintf("%d of %d bands fail.", len(failed), bands)}, failed[:min(most, len(failed))]...)
	if more := len(failed) - most; more > 0 {
		lines = append(lines, fmt.Sprintf("And %d more.", more))
	}
	return lines
}

// Curves draws a figure of a theory study: what was measured in the order of colours,
// what the theory predicts dashed.
func Curves(f theory.Figure) *Figure {
	panel := LinePanel{Title: f.Title, X: f.XLabel, Y: f.YLabel, Log: f.LogX, LogY: f.LogY}
	measured := 0
	for _, c := range f.Curves {
		// The font of figures has no ∝.
		s := Series{Name: strings.ReplaceAll(c.Label, "∝", "~"), X: c.X, Mean: c.Y, Low: c.Low, High: c.High}
		switch c.Style {
		case theory.Prediction:
			s.Kind = Prediction
		case theory.Marks:
			s.Kind = Marks
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
	return Lines([]LinePanel{panel})
}

// integerPlaces names the series' X where all of them are integers, such as the numbers of
// problems; nil where they are not, or are too many to be named.
func integerPlaces(series []Series) map[float64]string {
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

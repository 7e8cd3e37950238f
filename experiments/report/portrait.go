package report

import (
	"cmp"
	"fmt"
	"slices"

	"calibra/data"
	"calibra/experiments/diagnosis"
	"calibra/experiments/metrics"
)

// Shown are the predictions of a method as a page shows them.
type Shown struct {
	Name string
	diagnosis.Portrait
}

// Portraits draws the reliability of several methods' predictions for the same rows, and lists what the last, which is
// judged, takes for what. Classes have these names, or their numbers where it is nil.
func Portraits(all []Shown, classes []string) []*Section {
	sections := []*Section{{Title: "Reliability", Figures: []*Drawing{{Name: "reliability-top", Figure: isotonic(all),
		Caption: "How often the top class is right, against its probability: the isotonic curve (CORP), the wider the more rows lie there, with the 95 % interval of each of its points, and bins of about as many rows each. Of calibrated predictions 95 % of the curves would lie in the grey region at each place. smECE is the smooth calibration error, a mean distance from the dashed line."}}}}
	if judged := all[len(all)-1]; judged.Confusion != nil && len(judged.Confusion.Taken) > 0 {
		sections = append(sections, &Section{Title: "Which class is taken for which", Tables: []*Table{judged.mistaken(classes)}})
	}
	return sections
}

// mistaken is a row for each of the largest confusions, those of most rows first.
func (s Shown) mistaken(classes []string) *Table {
	const most = 10
	c := s.Confusion
	t := &Table{Labels: []string{"Class", "taken for"}, Values: Heads("rows", "of the class", "mean probability")}
	largest := slices.SortedStableFunc(slices.Values(c.Taken), func(a, b diagnosis.Mistaken) int { return cmp.Compare(b.Rows, a.Rows) })
	largest = largest[:min(most, len(largest))]
	t.Caption = fmt.Sprintf("%d of the %d confusions of %s: rows of a class whose top class is another, and the mean probability of that.", len(largest), len(c.Taken), s.Name)
	for _, m := range largest {
		of := c.Rows[slices.Index(c.Classes, m.Class)]
		t.Add("", Row{Labels: []string{data.ClassName(classes, m.Class), data.ClassName(classes, m.For)},
			Cells: Texts(metrics.Fixed(m.Rows, 0), metrics.Fixed(100*m.Rows/of, 1)+" %", metrics.Fixed(m.Confidence, 3))})
	}
	return t
}

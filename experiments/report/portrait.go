package report

import (
	"cmp"
	"fmt"
	"slices"

	"calibra/experiments/diagnosis"
	"calibra/experiments/metrics"
)

// Shown are the predictions of a method as a page shows them.
type Shown struct {
	Name string
	diagnosis.Portrait
	Classes []*metrics.Curve // of each, nil where they are not known
}

// Portraits lists the gaps of several methods' predictions for the same rows, draws their reliability, and of the last,
// which is judged, that of each class, and lists what it takes for what.
func Portraits(all []Shown, names Names) []*Section {
	sections := []*Section{beyondChance(all, names), {Title: "Reliability", Figures: []*Drawing{{Name: "reliability-top", Figure: isotonic(all),
		Caption: "How often the top class is right, against its probability: the isotonic curve (CORP), the wider the more rows lie there, with the 95 % interval of each of its points, and bins of about as many rows each. Of calibrated predictions 95 % of the curves would lie in the grey region at each place. smECE is the smooth calibration error, a mean distance from the dashed line."}}}}
	judged := all[len(all)-1]
	if judged.Classes != nil {
		sections[1].Figures = append(sections[1].Figures, judged.classes(names))
	}
	if judged.Confusion != nil && len(judged.Confusion.Taken) > 0 {
		sections = append(sections, &Section{Title: "Which class is taken for which", Tables: []*Table{judged.mistaken(names)}})
	}
	return sections
}

// beyondChance is a row for each predicted class and group whose gap is beyond chance in any of what is shown, the
// furthest beyond first.
func beyondChance(all []Shown, names Names) *Section {
	const most = 12
	t := &Table{Labels: []string{"where"}, Values: Heads("rows")}
	for _, s := range all {
		t.Values = append(t.Values, Heads("gap of "+s.Name, "within chance")...)
	}
	found, parts := 0, 0
	for _, of := range partings {
		order := of.furthest(all[0])
		parts += len(order)
		for _, g := range order {
			cells, beyond := Texts(metrics.Fixed(float64(g.Rows), 0)), false
			for _, s := range all {
				gap := of.find(s, g.Part)
				cell := Cell{Text: gapText(gap.Value)}
				if gap.BeyondChance() {
					cell.Mark, beyond = metrics.Best, true // in bold
				}
				cells = append(cells, cell, Cell{Text: "± " + metrics.Fixed(gap.Chance, 3)})
			}
			if !beyond {
				continue
			}
			if found++; found <= most {
				t.Add("", Row{Labels: []string{of.name(names, g.Part)}, Cells: cells})
			}
		}
	}
	s := &Section{Title: "Where", Note: fmt.Sprintf("%d of %d gaps by predicted class and group are beyond chance.", found, parts)}
	if found > 0 {
		s.Tables = []*Table{t}
		if found > most {
			s.Note += fmt.Sprintf(" %d are listed.", most)
		}
		s.Note += " A gap is the confidence of the top class less its accuracy; 95 times in 100 all gaps of calibrated " +
			"predictions together are within chance. Those beyond it are bold."
	}
	return s
}

// classes draws the reliability of each class, the worst first.
func (s Shown) classes(names Names) *Drawing {
	const most = 10
	all := make([]Diagram, len(s.Classes))
	for c, curve := range s.Classes {
		all[c] = Diagram{Name: names.class(c), Curve: curve}
	}
	slices.SortStableFunc(all, func(a, b Diagram) int {
		_, first := calibrationError(a.Curve)
		_, second := calibrationError(b.Curve)
		return cmp.Compare(second, first)
	})
	shown := all[:min(most, len(all))]
	const caption = "How often each class of %s is true, against its probability, in bins of one width; ECE is their " +
		"mean gap, and grey bars are their shares of the rows. The worst first, %d of %d shown."
	return &Drawing{Name: "reliability-classes", Figure: Diagrams(shown), Caption: fmt.Sprintf(caption, s.Name, len(shown), len(all))}
}

// mistaken is a row for each of the largest confusions, those of most rows first.
func (s Shown) mistaken(names Names) *Table {
	const most = 10
	c := s.Confusion
	t := &Table{Labels: []string{"Class", "taken for"}, Values: Heads("rows", "of the class", "mean probability")}
	largest := slices.SortedStableFunc(slices.Values(c.Taken), func(a, b diagnosis.Mistaken) int { return cmp.Compare(b.Rows, a.Rows) })
	largest = largest[:min(most, len(largest))]
	t.Caption = fmt.Sprintf("%d of the %d confusions of %s: rows of a class whose top class is another, and the mean probability of that.", len(largest), len(c.Taken), s.Name)
	for _, m := range largest {
		of := c.Rows[slices.Index(c.Classes, m.Class)]
		t.Add("", Row{Labels: []string{names.class(m.Class), names.class(m.For)},
			Cells: Texts(metrics.Fixed(m.Rows, 0), metrics.Fixed(100*m.Rows/of, 1)+" %", metrics.Fixed(m.Confidence, 3))})
	}
	return t
}

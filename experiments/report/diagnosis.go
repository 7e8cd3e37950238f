package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"calibra/data"
	"calibra/experiments/diagnosis"
	"calibra/experiments/metrics"
	"calibra/experiments/verdict"
)

// gapText is a gap with its sign.
func gapText(x float64) string {
	if math.Abs(x) < .0005 {
		return "0.000"
	}
	return strings.Replace(metrics.Signed(x, 3), "-", "−", 1)
}

// Diagnosis is the page of a diagnosis; head describes where it comes from. The map m (nil: none) shows the same rows,
// and portrait are the sections of their predictions.
func Diagnosis(title string, head []Fact, d *diagnosis.Diagnosis, v *verdict.Verdict, m *diagnosis.Map, portrait []*Section) *Document {
	var sections []*Section
	corrected := "not measured, as there are too few rows"
	if d.Recoverable != nil {
		sections = append(sections, &Section{Title: "What to do", Tables: []*Table{RecoverableTable(d.Recoverable)}})
		corrected = d.Recoverable.Families[0] + ", by cross-fitting"
	}
	if d.Named != nil {
		sections = append(sections, &Section{Title: "Where it is wrong", Note: "The smallest descriptions that explain what is beyond chance: once the predictions of these rows are corrected, the rest is calibrated as far as its rows can tell.",
			Tables: []*Table{regionTable(d, "Groups, predicted classes and regions, or rows that are in two of these", d.Named, savesColumn)}})
	}
	if m != nil {
		sections = append(sections, &Section{Title: "Map", Note: "Each circle stands for rows near each other. It is grey where their accuracy is within chance of their confidence; else its colour shows which is larger. Its area shows how many rows they are. Rings are the regions of the table below.", Figures: []*Drawing{mapDrawing(d, m)}})
	}
	alike := ""
	switch {
	case d.Kind == diagnosis.GlobalError:
		alike = "These regions are no worse than the rest: a correction of the predictions alone leaves none of them wrong. "
	case d.Named != nil && len(d.Regions) > 0 && !d.Regions[0].Named:
		alike = "What is wrong in these regions is explained by what is named above. "
	}
	if len(d.Regions) > 0 {
		sections = append(sections, &Section{Title: "Regions", Note: alike + "Regions called wrong come first, in the order of what their correction would save in all. No row took part in finding its own region. " +
			"The gap is the predicted minus the observed frequency. Intervals hold for all gaps of this page at once, and p is adjusted for all of them. A region is called wrong if its interval does not hold 0: its gap is beyond “detectable”.",
			Tables: []*Table{regionTable(d, "Regions of the latent space", d.Regions, savesColumn, nearestColumn)}})
	}
	if m != nil && len(m.Regions) > 0 {
		portrait[1].Figures = append(portrait[1].Figures, regionDrawing(m.Regions))
	}
	sections = append(append(sections, portrait...),
		&Section{Title: "Classes", Tables: []*Table{regionTable(d, "All rows: the probability of each class and of the top class", d.Classes)}},
		&Section{Title: "Confidence", Tables: []*Table{regionTable(d, "Tenths of the rows by the confidence of their top class", d.Confidence, savesColumn)}})
	if d.Groups != nil {
		sections = append(sections, &Section{Title: "Groups", Tables: []*Table{regionTable(d, "The groups of the file, each with the class that is worst off in it", d.Groups, savesColumn)}})
	}
	var shown []Part
	if wrong := wrongTable(d); wrong.Blocks != nil {
		shown = []Part{{Table: wrong}}
	}
	return &Document{Title: title, Terminal: shown, Verdict: []Statement{Stated(v)}, Head: head, Sections: sections, Files: []string{"diagnosis.json"}, Facts: []Fact{
		{"Rows", strconv.Itoa(d.Rows)}, {"Classes", strconv.Itoa(d.NumClasses)}, {"Level", fmt.Sprintf("%g for everything tested at once", d.Level)},
		{"Redraws", strconv.Itoa(d.Redraws)}, {"Called wrong", fmt.Sprintf("beyond %.2f standard deviations, by the predictions or by the rows, whichever is larger", d.Critical)},
		{"Corrections", corrected}}}
}

// RecoverableTable shows the savings of corrections, on rows that they were not fitted to.
func RecoverableTable(g *metrics.Recovered) *Table {
	t := &Table{Caption: "Savings by corrections, on rows that they were not fitted to", Labels: []string{"correction", "family"},
		Values: Heads("nats a row", "at least (one-sided 95 %)", "p (one-sided)")}
	for k, gain := range []metrics.Gain{g.NLL.Global, g.NLL.Local} {
		name := []string{"of the predictions alone", "by the latent space, beyond that"}[k]
		if k == 1 && g.LocalNLL == nil {
			continue
		}
		t.Add("", Row{Labels: []string{name, g.Families[k]}, Cells: Texts(fmt.Sprintf("%.5f", gain.Value), fmt.Sprintf("%.5f", gain.Low), verdict.P(gain.P))})
	}
	return t
}

// regionColumn is a column of some tables of regions.
type regionColumn struct {
	head string
	text func(diagnosis.Region) string
}

var (
	savesColumn   = regionColumn{"saves, nats", func(r diagnosis.Region) string { return metrics.Nats(r.Saved) }}
	nearestColumn = regionColumn{"rows nearest its centre", func(r diagnosis.Region) string {
		return strings.Trim(strings.Join(strings.Fields(fmt.Sprint(r.Prototype)), ", "), "[]")
	}}
)

// ClassOf is the class whose probability in the region is judged, by its name or its number; "top" is the top class.
func ClassOf(d *diagnosis.Diagnosis, r diagnosis.Region) string {
	switch {
	case r.Class == nil:
		return "top"
	case d.ClassNames != nil:
		return d.ClassNames[*r.Class]
	}
	return strconv.Itoa(*r.Class)
}

// wrongTable is a row for each description of what is wrong; where all rows are, for each class and tenth that is.
func wrongTable(d *diagnosis.Diagnosis) *Table {
	t := &Table{Values: []Head{{Text: "called", Drop: 6}, {Text: "rows"}, {Text: "class"}, {Text: "predicted", Drop: 2}, {Text: "observed", Drop: 3}, {Text: "gap"},
		{Text: "interval", Drop: 5}, {Text: "p"}, {Text: "detectable", Drop: 4}, {Text: "saves"}, {Text: "where", Wrap: true}}}
	add := func(regions []diagnosis.Region, saves func(diagnosis.Region) string) {
		for _, r := range regions {
			if r.Wrong {
				t.Add("", Row{Cells: Texts("wrong", r.Size, ClassOf(d, r), metrics.Fixed(r.Confidence, 3), metrics.Fixed(r.Frequency, 3), metrics.Signed(r.Gap, 3),
					metrics.Signed(r.Low, 3)+" to "+metrics.Signed(r.High, 3), metrics.Fixed(r.P, 3), metrics.Fixed(r.Detectable, 3), saves(r), r.Describe)})
			}
		}
	}
	add(d.Named, savesColumn.text)
	if d.Kind != diagnosis.LocalError {
		add(d.Classes, func(diagnosis.Region) string { return "–" }) // what all rows would save is no single class's
		add(d.Confidence, savesColumn.text)
	}
	return t
}

// regionTable is a row for each region.
func regionTable(d *diagnosis.Diagnosis, caption string, regions []diagnosis.Region, more ...regionColumn) *Table {
	columns := append([]regionColumn{
		{"rows", func(r diagnosis.Region) string { return strconv.Itoa(r.Size) }},
		{"class", func(r diagnosis.Region) string { return ClassOf(d, r) }},
		{"predicted", func(r diagnosis.Region) string { return metrics.Fixed(r.Confidence, 3) }},
		{"observed", func(r diagnosis.Region) string { return metrics.Fixed(r.Frequency, 3) }},
		{"gap", func(r diagnosis.Region) string { return gapText(r.Gap) }},
		{"interval", func(r diagnosis.Region) string { return gapText(r.Low) + " to " + gapText(r.High) }},
		{"p", func(r diagnosis.Region) string { return metrics.Fixed(r.P, 3) }},
		{"detectable", func(r diagnosis.Region) string { return metrics.Fixed(r.Detectable, 3) }},
		{"accuracy", func(r diagnosis.Region) string { return metrics.Fixed(r.Accuracy, 3) }},
	}, more...)
	heads := data.Each(columns, func(c regionColumn) Head { return Head{Text: c.head} })
	t := &Table{Caption: caption, Labels: []string{"#", "where"}, Values: append(Heads("called"), heads...)}
	for k, r := range regions {
		called := Cell{Text: "–"}
		if r.BeyondChance {
			called = Cell{Text: "wrong", Mark: metrics.Best} // in bold
		}
		cells := data.Each(columns, func(c regionColumn) Cell { return Cell{Text: c.text(r)} })
		t.Add("", Row{Labels: []string{strconv.Itoa(k + 1), r.Describe}, Cells: append([]Cell{called}, cells...)})
	}
	return t
}

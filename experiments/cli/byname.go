package cli

import (
	"fmt"
	"slices"

	"calibra/experiments/metrics"
	"calibra/experiments/report"
)

// byName measures the classes of predictions, where they have names, and the groups of their rows, where the file has any.
func (j *Judged) byName() (classes, groups []metrics.Part, err error) {
	s := metrics.Settings{Rows: j.Weights}
	if j.ClassNames != nil {
		if classes, err = metrics.Parts(j.LogProbs, j.Labels, nil, j.ClassNames, s); err != nil {
			return nil, nil, err
		}
	}
	of, names, err := j.rowGroups()
	if of == nil || err != nil {
		return classes, nil, err
	}
	if names == nil {
		for g := range slices.Max(of) + 1 {
			names = append(names, fmt.Sprint(g))
		}
	}
	groups, err = metrics.Parts(j.LogProbs, j.Labels, of, names, s)
	return classes, groups, err
}

// mostParts is how many classes or groups a table shows.
const mostParts = 50

// partsTable is a row for each class or group, named below head; nil of none.
func partsTable(head string, all []metrics.Part) *report.Table {
	if all == nil {
		return nil
	}
	heads := report.Heads("rows", "accuracy", "confidence", "NLL", "share", "predicted")
	if !slices.ContainsFunc(all, func(p metrics.Part) bool { return p.Share > 0 }) {
		heads = heads[:4] // groups have no share
	}
	t := &report.Table{Labels: []string{head}, Values: heads}
	for _, p := range all[:min(len(all), mostParts)] {
		cells := report.Texts(metrics.Fixed(p.Rows, 0))
		for _, x := range []float64{p.Accuracy, p.Confidence, p.NLL, p.Share, p.Predicted} {
			cells = append(cells, report.Texts(metrics.Fixed(x, 4))...)
		}
		t.Add("", report.Row{Labels: []string{p.Name}, Cells: cells[:len(heads)]})
	}
	return t
}

// byName prints the tables of classes and groups, if there are any.
func (t *terminal) byName(r *metrics.Report) error {
	for _, of := range []*report.Table{partsTable("class", r.ByClass), partsTable("group", r.ByGroup)} {
		if of != nil {
			t.printf("\n")
			t.tables(reported(of, map[string]int{"share": 1, "predicted": 1}))
		}
	}
	return t.failed
}

// partsSection is the same on a page; nil of none.
func partsSection(title, note string, all []metrics.Part) *report.Section {
	if all == nil {
		return nil
	}
	if more := len(all) - mostParts; more > 0 {
		note += fmt.Sprintf(" %d more are in the JSON.", more)
	}
	return &report.Section{Title: title, Note: note, Tables: []*report.Table{partsTable(title, all)}}
}

package study

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"calibra/data"
	"calibra/experiments/metrics"
	"calibra/experiments/report"
)

// beyondStudy holds maps on the original logits against the paper's calibrator and the
// global maps, on what is left above the noise floor.
var beyondStudy = Study{
	Name: "beyond", Line: "anchored maps beside the published calibrator, judged against the noise floor",
	Grid: always(each("stacked", "auto", "order-preserving", "anchored", "anchored-dirichlet", "anchored-bilinear", "local-temperature", "gated",
		"vq", "sm", "dc", "ir", "ts", "nc")),
	Vary:  []Field{byMethod},
	Views: []View{meanRanks, accepted, forests, pairedNLL, beyondTable, choices, noiseFloor, profiles},
}

// sparseExcess is the local error above noise where calibration rows are sparse.
func sparseExcess() quantity { return above(inThird(0, sharedEmbedding)) }

// beyondTable is what the acceptance of an anchored map is read from.
var beyondTable = tables("Anchored maps",
	"Local metrics in the embedding shared by all methods. Noise is the same metric of labels redrawn from the method's own predictions; true LCE is against the known posterior of synthetic data.",
	func(f *Findings) []*report.Table {
		return []*report.Table{f.table("Mean and standard deviation over the seeds.", []quantity{
			sharedMetric(metrics.NLL), sharedMetric(metrics.Accuracy), sharedMetric(metrics.LCE), excess(metrics.LCE), sparseExcess(), trueLCE,
		})}
	})

// meanRanks ranks the methods by NLL, Brier score and LCE above noise over all data sets.
func meanRanks(_ context.Context, f *Findings) (*report.Section, error) {
	section := &report.Section{
		Title: "Mean ranks",
		Note:  "Methods are ranked on every data set by the mean over the seeds; methods without a result on all of them are left out. Bars are half of Nemenyi's critical difference at 5 %: methods whose bars meet do not differ significantly by the ranks alone.",
	}
	table := &report.Table{Caption: "Mean rank over the data sets, 1 the best.", Labels: []string{"Method"}}
	at := map[string]int{}
	var panels []report.RankPanel
	for _, q := range []quantity{sharedMetric(metrics.NLL), sharedMetric(metrics.Brier), excess(metrics.LCE), sparseExcess()} {
		names, scores := f.scores(q)
		if len(scores) < 2 || len(names) < 2 {
			continue
		}
		r, err := metrics.Friedman(scores)
		if err != nil {
			return nil, err
		}
		panel := report.RankPanel{
			Title: fmt.Sprintf("%s on %d data sets: Friedman p = %.2g, critical difference %.2f", q.title, len(scores), r.PValue, r.CriticalDifference),
			Ranks: r.Ranks, Critical: r.CriticalDifference,
		}
		for i, name := range names {
			panel.Names = append(panel.Names, f.Settings.Catalog.Title(name))
			panel.Ours = append(panel.Ours, !published(f.Settings.Catalog, name))
			if _, seen := at[name]; !seen {
				at[name] = len(at)
				table.Add("", report.Row{Labels: []string{f.Settings.Catalog.Title(name)}})
			}
			cells := &table.Blocks[0].Rows[at[name]].Cells
			*cells = append(padded(*cells, len(table.Values)), report.Cell{Text: fmt.Sprintf("%.2f", r.Ranks[i])})
		}
		table.Values = append(table.Values, report.Head{Text: q.title, Arrow: "↓"})
		panels = append(panels, panel)
	}
	if panels == nil {
		return nil, nil
	}
	for i, r := range table.Blocks[0].Rows {
		table.Blocks[0].Rows[i].Cells = padded(r.Cells, len(table.Values))
	}
	section.Tables = []*report.Table{table}
	section.Figures = []*report.Drawing{{Name: "ranks", Caption: "Mean ranks of the methods with Nemenyi's critical difference.", Figure: report.Ranks(panels)}}
	return section, nil
}

// padded is cells with a dash in each of the columns up to most that a method has no rank in.
func padded(cells []report.Cell, most int) []report.Cell {
	for len(cells) < most {
		cells = append(cells, report.Cell{Text: "–"})
	}
	return cells
}

// scores are the mean over the seeds of each method on each data set, for the methods
// that have one on all. Of a method that was run tuned and not, the tuned one counts.
func (f *Findings) scores(q quantity) (names []string, scores [][]float64) {
	subjects := f.subjects()
	if len(subjects) == 0 {
		return nil, nil
	}
	scores = make([][]float64, len(subjects))
	for _, first := range subjects[0].rows {
		if subjects[0].tuned(first.spec.Method) != first {
			continue
		}
		column := make([]float64, 0, len(subjects))
		for _, s := range subjects {
			if r := s.tuned(first.spec.Method); r != nil && !math.IsNaN(r.spread(q).Mean) {
				column = append(column, r.spread(q).Mean)
			}
		}
		if len(column) != len(subjects) {
			continue
		}
		names = append(names, first.spec.Method)
		for i, x := range column {
			scores[i] = append(scores[i], x)
		}
	}
	return names, scores
}

// choices counts which maps the judged method uses, seed by seed.
var choices = tables("Which maps are in use", "", func(f *Findings) []*report.Table {
	t := &report.Table{Caption: "Maps in use, with the number of seeds, and seconds of the fit.", Labels: []string{"Data"}, Values: report.Heads("maps", "fit, s")}
	for _, s := range f.subjects() {
		r := s.judged()
		if r == nil {
			continue
		}
		inUse := r.counted(func(res *Result) []string {
			return data.Each(res.Stages, func(stage Stage) string { return stage.Name })
		})
		seconds := r.spread(quantity{value: func(r *Result) float64 { return r.Fit }})
		t.Add("", report.Row{Labels: []string{s.Title()}, Cells: report.Texts(inUse, fmt.Sprintf("%.1f", seconds.Mean))})
	}
	return []*report.Table{t}
})

// counted is the words of the row's seeds with the number of seeds that have each: "anchored 3, gated 2".
func (r *row) counted(words func(*Result) []string) string {
	counts := map[string]int{}
	for _, res := range r.results {
		for _, word := range words(res) {
			counts[word]++
		}
	}
	return strings.Join(data.Each(slices.Sorted(maps.Keys(counts)), func(word string) string { return fmt.Sprintf("%s %d", word, counts[word]) }), ", ")
}

package cli

import (
	"fmt"
	"math"
	"slices"

	"calibra/data"
	"calibra/experiments/method"
	"calibra/experiments/metrics"
	"calibra/experiments/report"
	"calibra/experiments/run"
	"calibra/layers"
	"calibra/layers/anchored"

	"gonum.org/v1/gonum/mat"
)

// document is the page of a fit: what it gains, where it is wrong, and how it went.
func (c *fitCmd) document(run *run.Run, f findings) (*report.Document, error) {
	m, err := run.Spec.Catalog.Find(c.Method)
	if err != nil {
		return nil, err
	}
	title, intro := c.Method+" on "+run.Spec.Data, fmt.Sprintf("%s: %s. Fitted to %d rows of %d classes", c.Method, m.Line, run.Source.Cal.Len(), run.Source.Classes)
	if run.Judged() {
		intro += fmt.Sprintf(", judged on %d rows", run.Source.Test.Len())
	}
	intro += "."
	if kept := run.Kept(); kept != "" {
		intro += " " + kept + "."
	}
	if text := run.Unreached(); text != "" {
		intro += " Warning: " + text + "."
	}
	doc := &report.Document{Title: title, Intro: intro}
	switch {
	case f.beside != nil:
		if doc, err = f.beside.document(title, intro, c.Method, f.beside.table()); err != nil {
			return nil, err
		}
		for _, r := range f.beside.runs {
			if of := r.Outcome.Metrics; of.Floored.Much() {
				doc.Terminal = append(doc.Terminal, report.Part{Lines: []string{r.Spec.Method + ": " + report.FlooredText(of.Floored, of.Rows) + "."}})
			}
		}
	case run.Judged():
		shown, err := portraits([]said{{c.Method, run.Outcome.Predictions}})
		if err != nil {
			return nil, err
		}
		doc.Sections = report.Portraits(shown, report.Names{Classes: run.Source.Cal.Names.Classes, Groups: run.Outcome.Predictions.Groups.Names})
	}
	doc.Files = []string{"config.json", "model.safetensors"}
	if run.Outcome != nil {
		doc.Files = append(doc.Files, "metrics.json", "predictions.npz")
	}
	if doc.Head, err = provenance(report.Fact{Name: "Data", Value: run.Spec.Data}); err != nil {
		return nil, err
	}
	if run.Judged() {
		doc.Terminal = append([]report.Part{{Table: runTable(run)}}, doc.Terminal...)
	}
	if f.ranking != nil {
		candidates := &report.Section{Title: "Candidates", Tables: []*report.Table{f.ranking}, Lines: f.together}
		doc.Sections, doc.Terminal = append(doc.Sections, candidates), append([]report.Part{{Table: f.ranking, Lines: f.together}}, doc.Terminal...)
	}
	cells, err := cellSection(run)
	if err != nil {
		return nil, err
	}
	if cells != nil {
		doc.Sections = append(doc.Sections, cells)
	}
	if curves := curveSection(run); curves != nil {
		doc.Sections, doc.Files = append(doc.Sections, curves), append(doc.Files, "curves.csv")
	}
	doc.Facts = data.Each(run.Keys, func(k method.Key) report.Fact { return report.Fact{Name: k.Name, Value: fmt.Sprint(k.Value)} })
	for _, s := range run.Optima() {
		doc.Facts = append(doc.Facts, report.Fact{Name: "Gradient at the end, " + s.Stage, Value: s.Optimum.String()})
	}
	for _, s := range run.Residuals() {
		doc.Facts = append(doc.Facts, report.Fact{Name: "Gradient at the end, " + s.Stage, Value: s.String()})
	}
	doc.Facts = append(doc.Facts, report.Fact{Name: "Split", Value: string(run.Spec.Split)}, report.Fact{Name: "Seed", Value: fmt.Sprint(run.Spec.Seed)})
	return doc, nil
}

// runTable is the line of a run: the metrics of the paper's tables, codeword usage of the test
// rows, and the time of the fit.
func runTable(r *run.Run) *report.Table {
	t := &report.Table{Labels: []string{"Method"}, Values: []report.Head{
		{Text: "NLL"}, {Text: "LCE"}, {Text: "MLCE", Drop: 2}, {Text: "LCE own", Drop: 4}, {Text: "ECCE", Drop: 3}, {Text: "ECE"}, {Text: "class-wise ECE", Drop: 5}, {Text: "ACC"},
		{Text: "codewords min / max / dead", Key: "codewords", Drop: 6}, {Text: "seconds", Drop: 1},
	}}
	m, own := r.Outcome.Metrics.Values, math.NaN()
	if r.Outcome.OwnMetrics != nil {
		own = r.Outcome.OwnMetrics.Values[metrics.LCE]
	}
	n := report.Number
	t.Add("", report.Row{Labels: []string{r.Spec.Method}, Cells: []report.Cell{n(m[metrics.NLL], 4), n(m[metrics.LCE], 5), n(m[metrics.MLCE], 4), n(own, 5), n(m[metrics.ECCE], 5),
		n(m[metrics.TopECE], 5), n(m[metrics.ECE], 5), n(m[metrics.Accuracy], 4), usage(r.Usage), n(r.Fit.Seconds(), 1)}})
	return t
}

// usage is the fewest and the most test slots of a codeword, and how many have none.
func usage(counts []int) report.Cell {
	if counts == nil {
		return report.Number(math.NaN(), 0)
	}
	dead := 0
	for _, n := range counts {
		if n == 0 {
			dead++
		}
	}
	return report.Cell{Text: fmt.Sprintf("%d / %d / %d", slices.Min(counts), slices.Max(counts), dead), Value: counts}
}

// rankingTable shows the candidates' losses by cross-validation, and the share of each.
func rankingTable(ranking []anchored.Ranked, shares []float64) *report.Table {
	t := &report.Table{Labels: []string{"candidate"}, Values: []report.Head{
		{Text: "held-out NLL", Key: "nll"}, {Text: "± s.e.", Key: "nll_error", Drop: 2}, {Text: "above least", Key: "excess"}, {Text: "± s.e.", Key: "excess_error", Drop: 1},
		{Text: "accuracy lost", Drop: 3}, {Text: "± s.e.", Key: "accuracy_lost_error", Drop: 4}, {Text: "share"},
	}}
	for i, r := range ranking {
		cells := data.Each([]float64{r.NLL, r.Error, r.Excess, r.ExcessError, r.Lost, r.LostError}, func(x float64) report.Cell { return report.Number(x, 4) })
		t.Add("", report.Row{Labels: []string{r.Name}, Cells: append(cells, report.Number(shares[i], 3))})
	}
	return t
}

// cellSection is a slice through the cells of the codewords that a run divides rows by; nil where there are none.
func cellSection(run *run.Run) (*report.Section, error) {
	model, ok := run.Model.(layers.Embedder)
	if !ok {
		return nil, nil
	}
	const shown = 150 // rows, each with all of its slots
	rows := run.Source.Cal.Rows(data.Spread(run.Source.Cal.Len(), shown))
	embedded, err := model.Embed(rows)
	if err != nil {
		return nil, err
	}
	q, ok := embedded.(interface {
		Plane(x mat.Matrix) *layers.Plane
	})
	if !ok {
		return nil, nil
	}
	plane := q.Plane(rows.Features)
	if plane == nil {
		return nil, nil
	}
	cells := report.Cells{Slots: plane.Slots, Codewords: plane.Codewords, Off: plane.Off, Usage: plane.Usage,
		Axes: [2]string{"first principal direction of the slots", "second principal direction of the slots"}}
	if plane.Features {
		cells.Axes = [2]string{"first feature of a slot, less its centre", "second feature of a slot, less its centre"}
	}
	return &report.Section{Title: "Cells", Figures: []*report.Drawing{cells.Drawing()}}, nil
}

// curveSection are the learning curves of a run, a panel for each stage whose loss moves by what an axis shows, a dot at
// the epoch that is kept; nil where there are none.
func curveSection(run *run.Run) *report.Section {
	var panels []report.LinePanel
	for _, s := range run.Curves() {
		var epochs, loss, validation []float64
		for _, p := range s.Result.Curve {
			epochs, loss, validation = append(epochs, float64(p.Epoch)), append(loss, p.Loss), append(validation, p.Validation)
		}
		if low, high := slices.Min(loss), slices.Max(loss); high-low < 1e-4*math.Abs(high) {
			continue
		}
		series, judged := []report.Series{{Name: "training", Kind: report.Prediction, X: epochs, Mean: loss}}, loss
		if slices.ContainsFunc(validation, func(v float64) bool { return !math.IsNaN(v) }) {
			judged = validation
			series = append(series, report.Series{Name: "validation", Ours: true, Kind: report.Prediction, X: epochs, Mean: validation})
		}
		if at := slices.Index(epochs, float64(s.Result.Best)); at >= 0 {
			series = append(series, report.Series{Name: "kept", Ours: true, Kind: report.Marks, X: epochs[at : at+1], Mean: judged[at : at+1]})
		}
		panels = append(panels, report.LinePanel{Title: s.Name, X: "epoch or iteration", Y: "loss, nats a row", Apart: true, Series: series})
	}
	figure := report.Lines(panels)
	if figure == nil {
		return nil
	}
	return &report.Section{Title: "Learning curves", Figures: []*report.Drawing{{Name: "learning", Figure: figure,
		Caption: "The loss of each stage of the fit, on the rows it is fitted to and on validation rows, if there were any; a dot is at the epoch whose weights are kept. The numbers are in curves.csv."}}}
}

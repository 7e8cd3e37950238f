package cli

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"calibra/data"
	"calibra/experiments"
	"calibra/experiments/metrics"
	"calibra/experiments/report"
	"calibra/layers"
)

// document is the page of a fit: what it gains, where it is wrong, and how it went.
func (c *fitCmd) document(run *experiments.Run, f findings) (*report.Document, error) {
	doc := &report.Document{Title: c.Method + " on " + run.Spec.Data, Files: []string{"config.json", "model.safetensors"}}
	var err error
	if doc.Head, err = provenance(report.Fact{Name: "Data", Value: run.Spec.Data}); err != nil {
		return nil, err
	}
	method, err := run.Spec.Catalog.Find(c.Method)
	if err != nil {
		return nil, err
	}
	doc.Intro = fmt.Sprintf("%s: %s. Fitted to %d rows of %d classes", c.Method, method.Line, run.Source.Cal.Len(), run.Source.Classes)
	if run.Outcome != nil {
		doc.Intro += fmt.Sprintf(", judged on %d", run.Source.Test.Counted())
		doc.Files = append(doc.Files, "metrics.json", "predictions.npz")
	}
	doc.Intro += "."
	switch {
	case f.beside != nil:
		doc.Verdict = []report.Statement{f.beside.verdict.Statement()}
		if doc.Sections, err = f.beside.sections(c.Method); err != nil {
			return nil, err
		}
	case run.Outcome != nil:
		drawn, err := portrait([]said{{c.Method, run.Outcome.Predictions}}, run.Source.Cal.Names.Classes)
		if err != nil {
			return nil, err
		}
		doc.Sections = []*report.Section{{Title: "Reliability", Figures: drawn}}
	}
	if f.ranking != nil {
		doc.Sections = append(doc.Sections, &report.Section{Title: "Candidates", Tables: []*report.Table{f.ranking.page("What cross-validation over the calibration rows says of each map.")}})
	}
	if curves := curveSection(run); curves != nil {
		doc.Sections, doc.Files = append(doc.Sections, curves), append(doc.Files, "curves.csv")
	}
	for _, k := range run.Keys {
		doc.Facts = append(doc.Facts, report.Fact{Name: k.Name, Value: fmt.Sprint(k.Value)})
	}
	doc.Facts = append(doc.Facts, report.Fact{Name: "Split", Value: string(run.Spec.Split)}, report.Fact{Name: "Seed", Value: fmt.Sprint(run.Spec.Seed)})
	return doc, nil
}

// page is the table as a page shows it, its first columns of words as labels.
func (t *table) page(caption string) *report.Table {
	labels := slices.IndexFunc(t.columns, func(c column) bool { return !c.left })
	out := &report.Table{Caption: caption, Labels: t.heads()[:labels], Blocks: []report.Block{{}}}
	for _, head := range t.heads()[labels:] {
		out.Values = append(out.Values, report.Head{Text: head})
	}
	for _, cells := range t.rows {
		row := report.Row{}
		for j, c := range cells {
			if j < labels {
				row.Labels = append(row.Labels, c.text)
				continue
			}
			row.Cells = append(row.Cells, report.Cell{Text: c.text})
		}
		out.Blocks[0].Rows = append(out.Blocks[0].Rows, row)
	}
	return out
}

// said is what a method says of the test rows.
type said struct {
	name string
	*data.Predictions
}

// portrait are the figures of what methods say of the same rows, the last of which is judged.
func portrait(all []said, classes []string) ([]*report.Drawing, error) {
	var shown []report.Shown
	for _, s := range all {
		rng := rand.New(rand.NewPCG(0, 7))
		if s.Parts != nil { // soft labels are no draws
			rng = nil
		}
		p, err := metrics.NewPortrait(s.LogProbs, s.Labels, s.Weights, rng)
		if err != nil {
			return nil, err
		}
		shown = append(shown, report.Shown{Name: s.name, Portrait: p})
	}
	return report.Portraits(shown, classes), nil
}

// curveSection are the learning curves of a run; nil where no stage ran in epochs.
func curveSection(run *experiments.Run) *report.Section {
	var curves []report.LossCurve
	for _, s := range run.Curves() {
		curves = append(curves, lossCurve(s))
	}
	figure := report.Losses(curves)
	if figure == nil {
		return nil
	}
	return &report.Section{Title: "Learning curves", Figures: []*report.Drawing{{Name: "curves", Figure: figure,
		Caption: "The loss of each stage of the fit, on the rows it is fitted to and on validation rows, if there were any. The numbers are in curves.csv."}}}
}

func lossCurve(s layers.Stage) report.LossCurve {
	c := report.LossCurve{Name: s.Name, Kept: float64(s.Result.Best)}
	for _, p := range s.Result.Curve {
		c.Epochs, c.Loss, c.Validation = append(c.Epochs, float64(p.Epoch)), append(c.Loss, p.Loss), append(c.Validation, p.Validation)
	}
	return c
}

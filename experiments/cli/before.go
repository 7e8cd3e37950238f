package cli

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"calibra/data"
	"calibra/experiments"
	"calibra/experiments/metrics"
	"calibra/experiments/report"
	"calibra/experiments/study"
	"calibra/graph/work"

	"gonum.org/v1/gonum/mat"
)

// floorRedraws are those behind the noise floors of a fit.
const floorRedraws = 20

// localRows is up to how many test rows a fit measures the local errors of the classifier before
// it, and their noise floor: their time grows with the square of the rows.
const localRows = 8000

// weighed are runs on the same test rows and what is to be said of them.
type weighed struct {
	runs    []*experiments.Run
	floors  []*metrics.Report // of each run
	verdict *report.Verdict
}

// weigh sets the run beside the classifier as it is and, where that shows that the run does harm,
// beside temperature scaling. It is nil where the test rows have no logits.
func weigh(ctx context.Context, run *experiments.Run) (*weighed, error) {
	if run.Source.Test.Logits == nil || run.Source.Cal.Logits == nil {
		return nil, nil
	}
	const remedy = "ts"
	w := &weighed{}
	for _, method := range []string{report.Classifier, run.Spec.Method, remedy} {
		own := method == run.Spec.Method
		if w.place(method) >= 0 || method == remedy && !own && len(w.verdict.Avoid) == 0 {
			continue
		}
		r, step := run, work.Piece(ctx, method, len(w.runs), 1, 1, 1)
		if !own {
			var err error
			if r, err = onLogits(work.Span(step, "", 0, 0.5), method, run); err != nil {
				return nil, err
			}
		}
		if err := w.add(work.Span(step, "noise floors", 0.5, 1), r, run); err != nil {
			return nil, err
		}
		const asked = 2 // the classifier as it is, and the run
		if err := w.judge(min(asked, len(w.runs))); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// onLogits fits a method that reads logits alone to the rows of another run, and judges it on
// those of that run.
func onLogits(ctx context.Context, method string, run *experiments.Run) (*experiments.Run, error) {
	logits := func(x *data.Set) *data.Set {
		out := *x
		out.Features = nil
		return &out
	}
	source := *run.Source
	source.Cal, source.Val, source.Test = logits(source.Cal), nil, logits(source.Test)
	if source.Test.TestWeights == nil { // rows that differ in their features are no copies
		source.Test.TestWeights = slices.Repeat([]float64{1}, source.Test.Len())
		if w := source.Test.Weights; w != nil {
			source.Test.TestWeights = w
		}
	}
	return experiments.Spec{Catalog: run.Spec.Catalog, Method: method, Data: run.Spec.Data, Split: data.NoValidation, Seed: run.Spec.Seed}.Fit(ctx, &source, nil)
}

// judge weighs the runs that are there, of which the first were asked for.
func (w *weighed) judge(asked int) (err error) {
	w.verdict, err = study.Weigh(w.runs, w.floors, asked)
	return err
}

// add adds a run, and measures its predictions for the test rows with their noise floors, the local errors in
// the embedding of the fit where the rows are few.
func (w *weighed) add(ctx context.Context, r, fit *experiments.Run) error {
	settings, err := fit.Spec.Measuring()
	if err != nil {
		return err
	}
	p := r.Outcome.Predictions
	var embedding mat.Matrix
	if shared := fit.Outcome.Shared; shared != nil && len(p.Labels) <= localRows {
		embedding = shared
	}
	settings.Rows, settings.Soft = p.Counting(), p.Soft
	uncertainty := metrics.Uncertainty{Replicates: metrics.None, Redraws: floorRedraws}
	floor, err := metrics.MeasureWith(ctx, p.LogProbs, p.Labels, embedding, settings, uncertainty, rand.New(rand.NewPCG(fit.Spec.Seed, 4)))
	w.runs, w.floors = append(w.runs, r), append(w.floors, floor)
	return err
}

// place is that of the run of a method.
func (w *weighed) place(method string) int {
	return slices.IndexFunc(w.runs, func(r *experiments.Run) bool { return r.Spec.Method == method })
}

// table is one line for each run: before, after, and the remedy.
func (w *weighed) table() *table {
	t := &table{columns: []column{
		{head: "method", left: true}, {head: "NLL", key: "nll"}, {head: "ACC", key: "accuracy"},
		{head: "ECE", key: "ece_top"}, {head: "floor", key: "ece_top_floor"}, {head: "LCE", key: "lce"}, {head: "floor", key: "lce_floor"},
		{head: "class-wise ECE", key: "ece", drop: 3}, {head: "floor", key: "ece_floor", drop: 2},
	}}
	for i, r := range w.runs {
		t.add(append([]cell{words(r.Spec.Method)}, floored(w.floors[i])...)...)
	}
	return t
}

// objects are the lines of the table, with the rows whose label has next to no probability.
func (w *weighed) objects() []map[string]any {
	objects := w.table().objects()
	for i, r := range w.runs {
		if f := r.Outcome.Metrics.Floored; f != nil {
			objects[i]["floored"] = f
		}
	}
	return objects
}

// floored are NLL and accuracy, and ECE, LCE and class-wise ECE with their noise floors.
func floored(r *metrics.Report) []cell {
	cells := []cell{decimals(r.Values[metrics.NLL], 4), decimals(r.Values[metrics.Accuracy], 4)}
	for _, m := range []metrics.Metric{metrics.TopECE, metrics.LCE, metrics.ECE} {
		floor := math.NaN()
		if n := r.Noise[m]; n != nil {
			floor = n.Mean
		}
		cells = append(cells, decimals(r.Values[m], 5), decimals(floor, 5))
	}
	return cells
}

// sections are the runs as a page shows them: their errors with noise floors, the differences to
// the lowest NLL, the reliability of each, and what the judged one, by its method, does beside the classifier.
func (w *weighed) sections(judged string) ([]*report.Section, error) {
	t := &report.Table{Caption: "Errors on the test rows, in the order of NLL. The floor is the error that a perfectly calibrated model with these predictions would show.", Labels: []string{"Method"},
		Values: report.Heads("NLL ↓", "ACC ↑", "ECE ↓", "floor", "LCE ↓", "floor", metrics.ECE.Title()+" ↓", "floor")}
	for _, m := range w.verdict.Methods {
		i := w.place(m.Name)
		t.Add("", report.Row{Labels: []string{m.Title}, Cells: data.Each(floored(w.floors[i]), cell.onPage), Winner: w.verdict.Chooses(m.Name)})
	}
	sections := []*report.Section{{Title: "Before and after", Tables: []*report.Table{t}}}
	if forest := w.verdict.Forest(""); forest != nil {
		sections[0].Figures = append(sections[0].Figures, &report.Drawing{Name: "differences", Caption: "Differences to the lowest NLL on the same test rows, with 95 % intervals; below 0 is better.", Figure: forest})
	}
	var says []said
	for _, name := range slices.Compact([]string{report.Classifier, judged}) {
		says = append(says, said{name, w.runs[w.place(name)].Outcome.Predictions})
	}
	drawn, err := portrait(says, w.runs[w.place(judged)].Source.Cal.Names.Classes)
	if err != nil {
		return nil, err
	}
	return append(sections,
		&report.Section{Title: "Reliability", Figures: drawn[:1]},
		&report.Section{Title: "Where it is wrong", Figures: drawn[1:]}), nil
}

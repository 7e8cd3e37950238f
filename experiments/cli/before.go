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
	"calibra/experiments/verdict"
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
	runs    []study.Weighed
	verdict *verdict.Verdict
}

// simplest is the method that every fit is set beside.
const simplest = "ts"

// weigh sets the run beside the classifier as it is and temperature scaling, and, where the classes are more or less frequent among the
// test rows, sets them beside these with new priors. It is nil where the test rows have no logits.
func weigh(ctx context.Context, run *experiments.Run) (*weighed, error) {
	if run.Source.Test.Logits == nil || run.Source.Cal.Logits == nil {
		return nil, nil
	}
	return weighAll(ctx, run, verdict.Classifier, run.Spec.Method, simplest)
}

// weighSource weighs the classifier as it is, for the test rows of a source, against methods that read logits alone, for which nobody
// asked. It is nil where the source has no calibration rows with labels.
func weighSource(ctx context.Context, methods *experiments.Catalog, src *data.Source, seed uint64) (*weighed, error) {
	if src == nil || src.Cal == nil || src.Cal.Logits == nil || src.Cal.Labels == nil && src.Cal.Soft == nil {
		return nil, nil
	}
	spec := experiments.Spec{Catalog: methods, Seed: seed}
	run, err := onLogits(ctx, verdict.Classifier, &experiments.Run{Spec: spec, Source: src})
	if err != nil {
		return nil, err
	}
	return weighAll(ctx, run, verdict.Classifier, simplest, methods.Recommended().Instead[0])
}

// weighAll weighs methods, among them that of the run, on the run's test rows. The others are fitted to its calibration rows.
func weighAll(ctx context.Context, run *experiments.Run, methods ...string) (*weighed, error) {
	w := &weighed{}
	for k, method := range methods {
		if w.place(method) >= 0 {
			continue
		}
		r, step := run, work.Piece(ctx, method, k, slices.Repeat([]float64{1}, len(methods))...)
		if method != run.Spec.Method {
			var err error
			if r, err = onLogits(work.Span(step, "", 0, 0.5), method, run); err != nil {
				return nil, err
			}
		}
		if err := w.add(work.Span(step, "noise floors", 0.5, 1), r, run); err != nil {
			return nil, err
		}
		w.runs[w.place(method)].Unasked = method != run.Spec.Method
	}
	if err := w.judge(); err != nil {
		return nil, err
	}
	return w, w.shift(ctx, run)
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

// judge weighs the runs that are there.
func (w *weighed) judge() (err error) {
	w.verdict, err = study.Weigh(w.runs)
	return err
}

// add adds a run, and measures its predictions for the test rows with their noise floors, the local errors in
// the embedding of the fit where the rows are few.
func (w *weighed) add(ctx context.Context, r, fit *experiments.Run) error {
	floors, err := measured(ctx, r.Outcome.Predictions, fit)
	w.runs = append(w.runs, study.Weighed{Run: r, Title: r.Spec.Method, Floors: floors})
	return err
}

// measured are the metrics of predictions for the test rows of a fit, with their noise floors.
func measured(ctx context.Context, p *data.Predictions, fit *experiments.Run) (*metrics.Report, error) {
	settings, err := fit.Spec.Measuring()
	if err != nil {
		return nil, err
	}
	var embedding mat.Matrix
	if shared := fit.Outcome.Shared; shared != nil && len(p.Labels) <= localRows {
		embedding = shared
	}
	settings.Rows, settings.Soft = p.Counting(), p.Soft
	uncertainty := metrics.Uncertainty{Replicates: metrics.None, Redraws: floorRedraws}
	return metrics.MeasureWith(ctx, p.LogProbs, p.Labels, embedding, settings, uncertainty, rand.New(rand.NewPCG(fit.Spec.Seed, 4)))
}

// place is that of the run of a method.
func (w *weighed) place(method string) int {
	return slices.IndexFunc(w.runs, func(r study.Weighed) bool { return r.Spec.Method == method })
}

// table is one line for each run: before, after, and the remedy.
func (w *weighed) table() *table {
	t := &table{columns: []column{
		{head: "method", left: true}, {head: "NLL", key: "nll"}, {head: "ACC", key: "accuracy"},
		{head: "ECE", key: "ece_top"}, {head: "floor", key: "ece_top_floor"}, {head: "LCE", key: "lce"}, {head: "floor", key: "lce_floor"},
		{head: "class-wise ECE", key: "ece", drop: 3}, {head: "floor", key: "ece_floor", drop: 2},
	}}
	for _, r := range w.runs {
		t.add(append([]cell{words(r.Title)}, floored(r.Floors)...)...)
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
		t.Add("", report.Row{Labels: []string{m.Title}, Cells: data.Each(floored(w.runs[i].Floors), cell.onPage), Winner: w.verdict.Chooses(m.Name)})
	}
	sections := []*report.Section{{Title: "Before and after", Tables: []*report.Table{t}}}
	if forest := report.Forest(w.verdict, ""); forest != nil {
		sections[0].Figures = append(sections[0].Figures, &report.Drawing{Name: "differences", Caption: "Differences to the lowest NLL on the same test rows, with 95 % intervals; below 0 is better.", Figure: forest})
	}
	var says []said
	for _, name := range slices.Compact([]string{verdict.Classifier, judged}) {
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

package cli

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"calibra/data"
	"calibra/experiments/method"
	"calibra/experiments/metrics"
	"calibra/experiments/report"
	"calibra/experiments/run"
	"calibra/experiments/source"
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

// weigh weighs the method of a run on the run's test rows against the classifier as it is and the simplest methods,
// which are fitted to its calibration rows, and, where the classes are more or less frequent among the test rows,
// against these with new priors. Where g says that a correction of the test rows by the latent space gains, and by its
// interval more than any of them, the recommended method is one more. It is nil where the rows have no logits.
func weigh(ctx context.Context, run *run.Run, g *metrics.Recovered) (*weighed, error) {
	if run.Source.Test.Logits == nil || run.Source.Cal.Logits == nil {
		return nil, nil
	}
	recommended, w := run.Spec.Catalog.Recommended(), &weighed{}
	methods := []string{verdict.Classifier, run.Spec.Method, simplest, method.Instead[0]}
	for k, method := range methods {
		if err := w.with(work.Piece(ctx, method, k, 1, 1, 1, 1, 1), method, run); err != nil {
			return nil, err
		}
	}
	w.judge()
	if err := w.shift(ctx, run); err != nil || g == nil || w.verdict.Cause == verdict.Shifted {
		return w, err
	}
	classifier := w.runs[0].Outcome.Metrics
	v := verdict.JudgeCorrections(len(classifier.Wrong), classifier.Values[metrics.NLL], classifier.Values[metrics.Accuracy], g)
	if v.ToUse() != verdict.Corrections[2] || run.Source.Cal.Features == nil || run.Source.Cal.Len() < method.FewestRows ||
		w.verdict.Say == verdict.Use && v.High >= w.verdict.Low {
		return w, nil
	}
	if err := w.with(work.Piece(ctx, recommended.Name, len(methods), 1, 1, 1, 1, 1), recommended.Name, run); err != nil {
		return nil, err
	}
	w.judge()
	return w, nil
}

// affordable is how many seconds a fit may take for which nobody asked.
const affordable = 10

// with adds the method once, fitted beside the run where it is not the run's own, unless that would take long.
func (w *weighed) with(ctx context.Context, method string, run *run.Run) (err error) {
	if w.place(method) >= 0 {
		return nil
	}
	r, asked := run, method == run.Spec.Method
	if !asked {
		spec := run.Spec
		if spec.Method = method; spec.Expected(source.SizeOf(run.Source)) > affordable && method != simplest && method != verdict.Classifier {
			return nil
		}
		if r, err = beside(work.Span(ctx, "", 0, 0.5), method, run); err != nil {
			return err
		}
	}
	if err := w.add(work.Span(ctx, "noise floors", 0.5, 1), r, run); err != nil {
		return err
	}
	w.runs[len(w.runs)-1].Unasked = !asked
	return nil
}

// beside fits a method to the rows of another run, without their features where it reads logits alone, and judges it on
// those of that run.
func beside(ctx context.Context, method string, fitted *run.Run) (*run.Run, error) {
	m, err := fitted.Spec.Catalog.Find(method)
	if err != nil {
		return nil, err
	}
	source := *fitted.Source
	if source.Val = nil; !readsFeatures(m) {
		cal, test := *source.Cal, *source.Test
		source.Cal, source.Test, cal.Features, test.Features = &cal, &test, nil, nil
		if test.TestWeights == nil { // rows that differ in their features are no copies
			test.TestWeights = slices.Repeat([]float64{1}, test.Len())
			if w := test.Weights; w != nil {
				test.TestWeights = w
			}
		}
	}
	return run.Spec{Catalog: fitted.Spec.Catalog, Method: method, Data: fitted.Spec.Data, Split: data.NoValidation, Seed: fitted.Spec.Seed}.Fit(ctx, &source, nil)
}

// judge weighs the runs that are there.
func (w *weighed) judge() { w.verdict = study.Weigh(w.runs) }

// add adds a run, and measures its predictions for the test rows with their noise floors, the local errors in
// the embedding of the fit where the rows are few.
func (w *weighed) add(ctx context.Context, r, fit *run.Run) error {
	floors, err := measured(ctx, r.Outcome.Predictions, fit)
	w.runs = append(w.runs, study.Weighed{Run: r, Title: r.Spec.Method, Floors: floors})
	return err
}

// measured are the metrics of predictions for the test rows of a fit, with their noise floors.
func measured(ctx context.Context, p *data.Predictions, fit *run.Run) (*metrics.Report, error) {
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
func (w *weighed) table() *report.Table {
	t := &report.Table{Caption: "Errors on the test rows, lower is better, and accuracy (ACC). The floor is the error that a perfectly calibrated model with these predictions would show.",
		Labels: []string{"Method"}, Values: append(report.Heads("NLL", "ACC", "ECE"), report.Head{Text: "floor", Key: "ece_top_floor"},
			report.Head{Text: "LCE"}, report.Head{Text: "floor", Key: "lce_floor"}, report.Head{Text: metrics.ECE.Title(), Drop: 3}, report.Head{Text: "floor", Key: "ece_floor", Drop: 2})}
	for _, r := range w.runs {
		t.Add("", report.Row{Labels: []string{r.Title}, Cells: floored(r.Floors), Winner: w.verdict.Chooses(r.Spec.Method)})
	}
	return t
}

// objects are the lines of the table, with the rows whose label has next to no probability.
func (w *weighed) objects() []map[string]any {
	objects := w.table().Objects()
	for i, r := range w.runs {
		if f := r.Outcome.Metrics.Floored; f != nil {
			objects[i]["floored"] = f
		}
	}
	return objects
}

// floored are NLL and accuracy, and ECE, LCE and class-wise ECE with their noise floors.
func floored(r *metrics.Report) []report.Cell {
	cells := []report.Cell{report.Number(r.Values[metrics.NLL], 4), report.Number(r.Values[metrics.Accuracy], 4)}
	for _, m := range []metrics.Metric{metrics.TopECE, metrics.LCE, metrics.ECE} {
		floor := math.NaN()
		if n := r.Noise[m]; n != nil {
			floor = n.Mean
		}
		cells = append(cells, report.Number(r.Values[m], 5), report.Number(floor, 5))
	}
	return cells
}

// sharesOf are those of the classes of a source.
func sharesOf(src *data.Source) *report.Shares {
	if src == nil || src.Cal == nil || src.Test == nil {
		return nil
	}
	return &report.Shares{Calibration: study.ClassShares(src.Cal, src.Classes), Test: study.ClassShares(src.Test, src.Classes)}
}

// document is a page of the runs: their errors with noise floors, which a terminal shows too, the differences to the
// lowest NLL, the reliability of each, and what the judged one, by its method, does beside the classifier.
func (w *weighed) document(title, intro, judged string, list *report.Table) (*report.Document, error) {
	d := &report.Document{Title: title, Intro: intro, Verdict: []report.Statement{report.Stated(w.verdict)}}
	before := &report.Section{Title: "Before and after", Tables: []*report.Table{list}}
	d.Show(before)
	if forest := report.Forest(w.verdict, ""); forest != nil {
		before.Figures = append(before.Figures, &report.Drawing{Name: "differences", Caption: "Differences to the lowest NLL on the same test rows, with 95 % intervals; below 0 is better.", Figure: forest})
	}
	after := judged
	if w.verdict.Say == verdict.Use {
		after = w.verdict.Method
	}
	var says []said
	for _, name := range []string{verdict.Classifier, judged, after} {
		says = append(says, said{name, w.runs[w.place(name)].Outcome.Predictions})
	}
	shown, err := portraits(says)
	if err != nil {
		return nil, err
	}
	src, together := w.runs[w.place(judged)].Source, shown[:2]
	if judged == verdict.Classifier {
		together = shown[:1]
	}
	beside := []report.Shown{shown[0], shown[2]}
	if after == verdict.Classifier {
		beside = shown[:1]
	}
	names := report.Names{Classes: src.Cal.Names.Classes, Groups: says[0].Groups.Names}
	d.Card = report.NewCard(w.verdict, beside, names, sharesOf(src))
	d.Sections = append(d.Sections, report.Portraits(together, names)...)
	return d, nil
}

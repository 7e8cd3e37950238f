package study

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"calibra/data"
	"calibra/experiments/method"
	"calibra/experiments/metrics"
	"calibra/experiments/report"
	"calibra/experiments/run"
	"calibra/experiments/verdict"
)

// simple are methods in the order of how simple they are, by their numbers: none, one, three, a
// few for each class. All others come after them, those that read logits alone first and of these
// the quick ones.
var simple = []string{verdict.Classifier, "ts", "ets", "beta", "ps", "vector", "histogram", "ir", "spline", "sv", "sm", "dc"}

// effort is how simple the method is; less is simpler.
func effort(c *method.Catalog, name string) int {
	if at := slices.Index(simple, name); at >= 0 {
		return at
	}
	m, err := c.Find(name)
	if err != nil {
		return math.MaxInt
	}
	const beyondSimple = 1000
	return len(simple) + beyondSimple*len(m.Needs) + int(m.Cost.Of(1e4, 512, 10))
}

// costOf is what using a method costs besides its fit: the features of each row.
func costOf(c *method.Catalog, name string) string {
	if m, err := c.Find(name); err == nil && slices.Contains(m.Needs, "features") {
		return "It needs the features of each row."
	}
	return ""
}

// errorRate is the share of test rows whose top class is not their label.
var errorRate = quantity{metric: metrics.Accuracy, key: "errors", title: "errors", value: func(r *Result) float64 { return 1 - at(r.Shared, metrics.Accuracy.String()) }}

// calibration is the squared calibration error of the top class, without bias.
var calibration = quantity{metric: metrics.TopECE, key: "calibration", title: "calibration", value: func(r *Result) (mean float64) {
	for _, loss := range r.Calibration {
		mean += float64(loss) / float64(len(r.Calibration))
	}
	return mean
}}

// Verdicts name the method to use on each data set. They are of the rows that are fitted to all
// calibration rows.
func (f *Findings) Verdicts() (all []*verdict.Verdict) {
	subjects := f.subjects()
	for _, s := range subjects {
		v := f.verdict(s)
		if v == nil {
			continue
		}
		if len(subjects) > 1 {
			v.Data = s.Title()
		}
		all = append(all, v)
	}
	return all
}

// verdictStatements are the verdicts as a page shows them.
func verdictStatements(f *Findings) []report.Statement { return data.Each(f.Verdicts(), report.Stated) }

// verdict is nil where no row has a result.
func (f *Findings) verdict(s *subject) *verdict.Verdict {
	if shifted := f.Shifted[s.origin]; shifted != nil {
		return shifted
	}
	candidates, rows := f.candidates(s)
	classifier := slices.IndexFunc(rows, func(i int) bool { return s.rows[i].spec.Method == verdict.Classifier })
	differences := func(m metrics.Metric, reference int) []*verdict.Difference {
		q := sharedMetric(m)
		switch m {
		case metrics.Accuracy:
			q = errorRate
		case metrics.TopECE:
			q = calibration
		}
		all := f.differences(s, s.rows[rows[reference]], q)
		return told(data.Each(rows, func(i int) *Against { return all[i] }))
	}
	v := verdict.Judge(s.largest().counted(), candidates, classifier, differences)
	if v == nil {
		return nil
	}
	v.Notes = f.Notes
	v.Locate(f.Where[s.origin])
	v.Doubt(f.Doubts[s.origin]...)
	at := slices.IndexFunc(candidates, func(c verdict.Candidate) bool { return c.Name == v.ToUse() })
	in, r := f.Inputs[s.origin], s.largest()
	switch {
	case in == "":
	case s.origin.HoldsFeatures() && f.Settings.Folds == 0 && CrossFit(v, in, r.CalibrationRows+r.ValidationRows+r.TestRows):
	case at >= 0 && v.Say != verdict.CheckRows:
		v.Commands = s.rows[rows[at]].commands(in)
	}
	return v
}

// candidates are what the verdict chooses among, and which rows of the subject they are.
func (f *Findings) candidates(s *subject) (candidates []verdict.Candidate, rows []int) {
	for i, r := range s.rows {
		if len(r.results) == 0 || r.spec.Fraction > 0 {
			continue
		}
		c := verdict.Candidate{
			Name: r.spec.Method, Title: f.named(r), NLL: r.spread(sharedMetric(metrics.NLL)).Mean,
			Accuracy: r.spread(sharedMetric(metrics.Accuracy)).Mean, Effort: effort(r.spec.Catalog, r.spec.Method), Cost: costOf(r.spec.Catalog, r.spec.Method),
			Calibration: &verdict.Calibration{ECE: r.spread(sharedMetric(metrics.TopECE)).Mean, Floor: r.spread(noiseOf(metrics.TopECE, sharedEmbedding)).Mean},
			Events:      r.events(),
		}
		if f.ranked() {
			c.Name, c.Title = f.called(r), f.called(r)
		} else {
			c.Name = c.Title
			c.Effort += i
		}
		rows, candidates = append(rows, i), append(candidates, c)
	}
	return candidates, rows
}

// events are those of the row's test rows: of the first seed, or of all where each seed draws rows of its own; nil
// where no result has them.
func (r *row) events() *metrics.Events {
	var sum *metrics.Events
	for _, x := range r.results {
		switch {
		case x.Events == nil:
		case sum == nil:
			sum = x.Events
		case x.Rows == nil:
			sum = sum.Plus(x.Events)
		}
	}
	return sum
}

// called is what verdicts, and lines of a comparison, call the row of a study whose rows are methods: by its label in a
// comparison.
func (f *Findings) called(r *row) string {
	if f.Study.Name == compareName {
		return r.labels[0]
	}
	return r.spec.Method
}

// named is the row's method with what else distinguishes it: "vq w=16 |C|=64".
func (f *Findings) named(r *row) string {
	name := r.spec.Method
	for i, field := range f.Study.Vary {
		if field.Head != byMethod.Head && r.labels[i] != without {
			name += fmt.Sprintf(" %s=%s", field.Head, r.labels[i])
		}
	}
	return name
}

// ranked reports whether the study's rows are methods, which tables show the best first; those of
// a grid of sizes keep its order.
func (f *Findings) ranked() bool {
	return !slices.ContainsFunc(f.Study.Vary, func(v Field) bool { return v.Head != byMethod.Head })
}

// shown are the subjects with their rows as tables and bars show them.
func (f *Findings) shown() []*subject {
	subjects := f.subjects()
	for _, s := range subjects {
		f.rank(s)
	}
	return subjects
}

// rank puts the rows with the least NLL first where they are methods, those without a result last.
func (f *Findings) rank(s *subject) {
	if !f.ranked() {
		return
	}
	mean := func(r *row) float64 {
		if x := r.spread(sharedMetric(metrics.NLL)).Mean; !math.IsNaN(x) {
			return x
		}
		return math.Inf(1)
	}
	slices.SortStableFunc(s.rows, func(a, b *row) int { return cmp.Compare(mean(a), mean(b)) })
}

// Commands fit the Spec's method on what the user named by in, of so many features, and apply it.
func Commands(in string, spec run.Spec, features int) []string {
	if spec.Method == verdict.Classifier {
		return nil
	}
	fit := "calibra fit --in " + in + " --method " + spec.Method
	if spec.Seed != 0 {
		fit += fmt.Sprintf(" --seed %d", spec.Seed)
	}
	chosen := spec.Chosen(features)
	for _, key := range chosen.Names() {
		fit += " --set " + key + "=" + chosen[key]
	}
	out := "runs/" + spec.Method
	return []string{fit + " --out " + out, Apply(in, out)}
}

// commands are those of the row's first seed.
func (r *row) commands(in string) []string {
	spec := r.results[0].Spec
	spec.Catalog = r.spec.Catalog
	return Commands(in, spec, r.results[0].Features)
}

// CrossFit gives a verdict that cannot tell by its test rows the command that judges methods on all labelled rows of
// the file in, so many, where these can ([verdict.Verdict.Share]). It reports whether it did.
func CrossFit(v *verdict.Verdict, in string, rows int) bool {
	if !v.Share(rows) {
		return false
	}
	v.Commands = []string{fmt.Sprintf("calibra compare --in %s --folds 5 --out runs/folds", in)}
	return true
}

// Apply is the command that applies the model in a directory.
func Apply(in, model string) string {
	return fmt.Sprintf("calibra apply --model %s --in %s --out calibrated.npz", model, in)
}

// Weighed is a run beside others that were judged on the same test rows.
type Weighed struct {
	*run.Run
	Title   string          // what a verdict calls it
	Floors  *metrics.Report // with the noise floors of its errors; nil where nobody measured them
	Unasked bool            // nobody asked for it: it may be what to use, and what not to use is never said of it
}

// Weigh is the verdict on runs that were judged on the same test rows. The first of them that leaves the classifier as
// it is counts as that.
func Weigh(runs []Weighed) *verdict.Verdict {
	var candidates []verdict.Candidate
	losses := map[metrics.Metric][][]float64{}
	for _, r := range runs {
		m, name := r.Outcome.Metrics, r.Spec.Method
		c := verdict.Candidate{
			Name: name, Title: r.Title, NLL: m.Values[metrics.NLL], Accuracy: m.Values[metrics.Accuracy],
			Effort: effort(r.Spec.Catalog, name), Unasked: r.Unasked, Events: m.Events, Cost: costOf(r.Spec.Catalog, name),
			Calibration: &verdict.Calibration{ECE: m.Values[metrics.TopECE], Floor: math.NaN()},
		}
		if r.Floors != nil && r.Floors.Noise[metrics.TopECE] != nil {
			c.Calibration.Floor = r.Floors.Noise[metrics.TopECE].Mean
		}
		candidates = append(candidates, c)
		for metric, of := range map[metrics.Metric][]float64{metrics.NLL: m.NLL, metrics.Accuracy: m.Wrong, metrics.TopECE: m.Calibration} {
			losses[metric] = append(losses[metric], of)
		}
	}
	classifier := slices.IndexFunc(runs, func(r Weighed) bool { return r.Spec.Method == verdict.Classifier })
	laws := map[[2]int]*metrics.Law{} // each is asked for again and again
	law := func(i, reference int) *metrics.Law {
		pair := [2]int{i, reference}
		if laws[pair] == nil {
			p := runs[i].Outcome.Predictions
			s := metrics.Settings{Rows: p.Counting(), Soft: p.Soft}
			l, err := metrics.NewLaw(p.LogProbs, runs[reference].Outcome.Predictions.LogProbs, p.Labels, s)
			if err != nil {
				panic("study: predictions that were measured: " + err.Error())
			}
			laws[pair], laws[[2]int{reference, i}] = l, l.Swapped()
		}
		return laws[pair]
	}
	first := runs[0].Outcome.Metrics
	differences := func(m metrics.Metric, reference int) []*verdict.Difference {
		return verdict.InPairs(m, losses[m], metrics.Ties{Effective: first.Effective}, law, reference)
	}
	return verdict.Judge(len(first.Wrong), candidates, classifier, differences)
}

// told are differences as a verdict lists them.
func told(family []*Against) []*verdict.Difference {
	return data.Each(family, func(a *Against) *verdict.Difference {
		if a == nil {
			return nil
		}
		return verdict.NewDifference(a.Comparison, a.Holm)
	})
}

// forests are the verdicts as figures.
func forests(f *Findings) *report.Section {
	section := &report.Section{
		Title: "Differences to the lowest NLL",
		Note:  "A dot is the difference between a method and the method of lowest NLL on the same test rows. Its bar is the 95 % interval of a paired t test over rows and seeds. Above 0 a method is worse, below 0 better; a bar that reaches 0 shows no significant difference.",
	}
	for _, s := range f.subjects() {
		v := f.verdict(s)
		if v == nil || len(v.Methods) < 2 {
			continue
		}
		drawn := s.drawing("differences", "Differences to the lowest NLL on %s, with 95 %% intervals.", report.Forest(v, s.Title()))
		section.Figures = append(section.Figures, drawn...)
	}
	if section.Figures == nil {
		return nil
	}
	return section
}

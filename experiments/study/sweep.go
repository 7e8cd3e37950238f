package study

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"calibra/data"
	"calibra/experiments/method"
	"calibra/experiments/metrics"
	"calibra/experiments/report"
	"calibra/experiments/run"
	"calibra/experiments/verdict"
)

// SweepName is the study of a grid of settings, whose grid whoever asks for it names: it is none of Studies.
const (
	SweepName = "sweep"
	SweepLine = "every combination of settings of a method, or some at random, compared on validation rows"
)

// Swept is a setting with the values that a sweep gives it.
type Swept struct {
	Key    string
	Values []string
}

// Sweep is a grid of settings of some methods.
type Sweep struct {
	Catalog *method.Catalog
	Methods []string
	Fixed   method.Values // settings that all have
	Swept   []Swept
	// Random is how many combinations are drawn, each once; 0 means all. More of the same grid are those with others.
	Random int
}

// mostCombinations bounds a grid before anything of it is made; mostFits what is fitted of it on a seed.
const (
	mostCombinations = 1_000_000
	mostFits         = 10_000
)

// Study is the sweep as a study. A setting that no method has, or a value that it cannot have, is a *data.InputError.
func (s Sweep) Study() (*Study, error) {
	specs, err := s.specs()
	if err != nil {
		return nil, err
	}
	study := &Study{
		Name: SweepName, Line: SweepLine, Grid: always(specs),
		Judging: run.Judging{HeldOut: true, Anchors: 4000}, Statements: chosenStatements,
	}
	if len(s.Methods) > 1 {
		study.Vary = []Field{byMethod}
	}
	study.Vary = append(study.Vary, data.Each(s.Swept, Swept.field)...)
	study.Views = []View{validationSection(s.Swept), testSection(s.Swept)}
	return study, nil
}

// without stands for the value of a setting that a method does not have.
const without = "–"

// field distinguishes rows by the setting, or by that which "vq.optim.rate" is of vq.
func (s Swept) field() Field {
	return Field{s.Key, func(spec run.Spec) string {
		return cmp.Or(spec.Value(s.Key), spec.Value(strings.TrimPrefix(s.Key, spec.Method+".")), without)
	}}
}

// specs are a Spec for each method and combination of what the method has of them. A setting that a combination has no
// use for, as one rule's beside another rule, is left out of that combination.
func (s Sweep) specs() ([]run.Spec, error) {
	combined, err := s.combined()
	if err != nil {
		return nil, err
	}
	unread, of := make([][]string, len(combined)), map[string]int{}
	for i, values := range combined {
		if unread[i], err = s.Catalog.Unread(values, s.Methods); err != nil {
			return nil, err
		}
		for _, key := range unread[i] {
			of[key]++
		}
	}
	specs := map[string][]run.Spec{}
	for i, values := range combined {
		maps.DeleteFunc(values, func(key, _ string) bool { return of[key] < len(combined) && slices.Contains(unread[i], key) })
		divided, err := s.Catalog.Divide(values, s.Methods)
		if err != nil {
			return nil, err
		}
		for _, name := range s.Methods {
			specs[name] = data.Once(specs[name], run.Spec{Method: name, Set: divided[name].String()})
		}
	}
	return slices.Concat(data.Each(s.Methods, func(name string) []run.Spec { return specs[name] })...), nil
}

// combined are the settings of every combination.
func (s Sweep) combined() (all []method.Values, err error) {
	places, err := s.places()
	for _, at := range places {
		values := s.Fixed.With(nil)
		for i := len(s.Swept) - 1; i >= 0; i-- { // the last setting changes first
			of := s.Swept[i].Values
			values[s.Swept[i].Key] = of[at%len(of)]
			at /= len(of)
		}
		all = append(all, values)
	}
	return all, err
}

// places are the numbers of the combinations, ascending.
func (s Sweep) places() ([]int, error) {
	total := 1
	for _, swept := range s.Swept {
		if total *= len(swept.Values); total > mostCombinations {
			return nil, data.Inputf("", "the grid has more than %d combinations; name fewer values", mostCombinations)
		}
	}
	if s.Random > total {
		return nil, data.Inputf("", "the grid has %d combinations, fewer than the %d of --random; leave it out for all of them", total, s.Random)
	}
	if n := cmp.Or(s.Random, total); n > mostFits {
		return nil, data.Inputf("", "%d combinations are too many for a sweep; draw up to %d of them by --random", n, mostFits)
	}
	if s.Random == 0 {
		return data.UpTo(total), nil
	}
	drawn := rand.New(rand.NewPCG(0, 9)).Perm(total)[:s.Random] // alike in every process that computes a share
	slices.Sort(drawn)
	return drawn, nil
}

// heldOutNote is how settings are chosen.
const heldOutNote = "the mean NLL over the seeds on validation rows, a stratified fifth of the calibration rows, after a fit to the other four fifths; the test rows have no part in it. The test figures are of a second fit, to all calibration rows"

// validation is the NLL that settings are chosen by.
var validation = quantity{metric: metrics.NLL, key: "validation_nll", title: "validation NLL",
	value: func(r *Result) float64 { return known(r.HeldOut) }}

// fitSeconds is what a fit took, without that to four fifths of the rows.
var fitSeconds = quantity{title: "fit seconds", unranked: true, value: func(r *Result) float64 { return r.Fit }}

// chosenFirst are the subjects, each with its settings by their validation NLL, those that lack a seed last.
func (f *Findings) chosenFirst() []*subject {
	subjects := f.subjects()
	for _, s := range subjects {
		slices.SortStableFunc(s.rows, func(a, b *row) int { return cmp.Compare(a.validated(), b.validated()) })
	}
	return subjects
}

// validated is the row's validation NLL, infinite where it lacks a seed.
func (r *row) validated() float64 {
	if mean := r.spread(validation).Mean; len(r.results) == len(r.cells) && !math.IsNaN(mean) {
		return mean
	}
	return math.Inf(1)
}

// Choice is the settings of a sweep that have the least mean NLL on validation rows, and what they reach on test rows.
type Choice struct {
	Data       string           `json:"data"`
	Method     string           `json:"method"`
	Settings   method.Values    `json:"settings"`
	Validation float64          `json:"validation_nll"`
	Test       float64          `json:"test_nll"`
	Interval   metrics.Interval `json:"test_interval"` // 95 %, over the test rows for the models of these seeds
	Seconds    float64          `json:"fit_seconds"`   // of a fit
	Of         int              `json:"of"`            // settings that it was chosen among
	Commands   []string         `json:"commands,omitempty"`
	// Verdict sets it beside the classifier as it is on test rows, nil where the sweep has no nc.
	Verdict *verdict.Verdict `json:"verdict,omitempty"`
	// Second are the settings of the second lowest validation NLL, and Difference how the choice differs from them on
	// test rows.
	Second     string              `json:"second,omitempty"`
	Difference *verdict.Difference `json:"difference_to_second,omitempty"`
	// Edge names each number of the settings that is the least or the largest that was tried.
	Edge []string `json:"edge,omitempty"`

	title string
	words string         // of the method and its settings, in the order of the grid
	seeds metrics.Spread // of Validation
}

// Choices are the choices for each data set.
func (f *Findings) Choices() (all []Choice) {
	for _, s := range f.chosenFirst() {
		tried := slices.DeleteFunc(slices.Clone(s.rows), func(r *row) bool { return math.IsInf(r.validated(), 1) || r.spec.Method == verdict.Classifier })
		if len(tried) == 0 {
			continue
		}
		best := tried[0]
		c := Choice{Data: s.origin.Name, Method: best.spec.Method, Settings: f.chosen(best), Validation: best.validated(), seeds: best.spread(validation), Seconds: best.spread(fitSeconds).Mean, Of: len(tried), title: s.Title(), words: f.worded(best)}
		c.Test, c.Interval = best.mean()
		if len(tried) > 1 {
			if d := pairedLosses(best, tried[1], sharedMetric(metrics.NLL)); d != nil {
				c.Second, c.Difference = f.worded(tried[1]), verdict.NewDifference(d.Comparison, d.PValue)
			}
		}
		if nc := slices.IndexFunc(s.rows, func(r *row) bool { return r.spec.Method == verdict.Classifier }); nc >= 0 {
			both := *s
			both.rows = []*row{s.rows[nc], best}
			c.Verdict = f.verdict(&both)
		}
		for _, field := range f.Study.Vary {
			if side := sideOf(field, best, tried); side != "" {
				c.Edge = append(c.Edge, field.Head+"="+field.Of(best.spec)+" ("+side+")")
			}
		}
		if in := f.Inputs[s.origin]; in != "" && (c.Verdict == nil || c.Verdict.Say == verdict.Use || c.Verdict.Say == verdict.CannotTell) {
			c.Commands = best.commands(in)
		}
		all = append(all, c)
	}
	return all
}

// chosen are the row's values of what the sweep varies.
func (f *Findings) chosen(r *row) method.Values {
	values := method.Values{}
	for _, field := range f.Study.Vary {
		if value := field.Of(r.spec); field.Head != byMethod.Head && value != without {
			values[field.Head] = value
		}
	}
	return values
}

// worded is the row's method with its settings: "vq with codebook.codewords=16, optim.rate=1e-3".
func (f *Findings) worded(r *row) string {
	var words []string
	values := f.chosen(r)
	for _, field := range f.Study.Vary {
		if value, there := values[field.Head]; there {
			words = append(words, field.Head+"="+value)
		}
	}
	if words == nil {
		return r.spec.Method
	}
	return r.spec.Method + " with " + strings.Join(words, ", ")
}

// sideOf is which end of the numbers that were tried the row's value is, "" where it is between them or not all are
// numbers.
func sideOf(field Field, of *row, tried []*row) string {
	values := data.Each(tried, func(r *row) string { return field.Of(r.spec) })
	numbers := numbersIn(slices.DeleteFunc(values, func(value string) bool { return value == without }))
	x, err := strconv.ParseFloat(field.Of(of.spec), 64)
	switch {
	case err != nil || numbers == nil || slices.Min(numbers) == slices.Max(numbers):
		return ""
	case x == slices.Min(numbers):
		return "the least tried"
	case x == slices.Max(numbers):
		return "the largest tried"
	}
	return ""
}

// numbersIn are the numbers that words are, nil where not all are.
func numbersIn(words []string) (numbers []float64) {
	for _, word := range words {
		x, err := strconv.ParseFloat(word, 64)
		if err != nil {
			return nil
		}
		numbers = append(numbers, x)
	}
	return numbers
}

// overAll says which settings have the least mean of log NLL on validation rows over several data sets, "" of one.
func (f *Findings) overAll() string {
	subjects := f.subjects()
	if len(subjects) < 2 {
		return ""
	}
	excess, of := map[string]float64{}, map[string]int{}
	for _, s := range subjects {
		least := math.Inf(1)
		for _, r := range s.rows {
			least = min(least, r.validated())
		}
		for _, r := range s.rows {
			if x := r.validated(); least > 0 && !math.IsInf(x, 1) {
				excess[f.worded(r)] += math.Log(x / least)
				of[f.worded(r)]++
			}
		}
	}
	best := ""
	for _, words := range slices.Sorted(maps.Keys(of)) {
		if of[words] == len(subjects) && (best == "" || excess[words] < excess[best]) {
			best = words
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("Over all %d data sets: %s; its NLL on validation rows is %s %% above the least of each, in the geometric mean.", len(subjects), best, metrics.Fixed(100*math.Expm1(excess[best]/float64(len(subjects))), 1))
}

// mean is the NLL of the row's test rows over its seeds with its 95 % interval: that of the difference to a loss of 0.
func (r *row) mean() (float64, metrics.Interval) {
	nll := sharedMetric(metrics.NLL)
	none := &row{results: data.Each(r.results, func(x *Result) *Result {
		return &Result{Spec: x.Spec, Shared: map[string]float64{nll.key: 0}, Losses: make([]float32, len(x.Losses)), Rows: x.Rows}
	})}
	p := pairedLosses(r, none, nll)
	if p == nil {
		return r.spread(nll).Mean, metrics.Interval{Low: nan, High: nan}
	}
	return p.Difference, p.Interval
}

// Lines say the choice: what to do beside the classifier, what was chosen, and how sure that is.
func (c Choice) Lines() (lines []string) {
	if c.Verdict != nil {
		lines = c.Verdict.Text()
	}
	lines = append(lines, fmt.Sprintf("Chosen on validation rows, of %d: %s, NLL %s there. On test rows its NLL is %s (95 %% %s to %s); a fit takes %s s.", c.Of, c.words, c.seeds.Format(metrics.NLL),
		metrics.Nats(c.Test), metrics.Nats(c.Interval.Low), metrics.Nats(c.Interval.High), metrics.Fixed(c.Seconds, 2)))
	if c.Difference != nil {
		lines = append(lines, fmt.Sprintf("Beside the second, %s, it %s on test rows.", c.Second, c.Difference.Tells()))
	}
	if c.Edge != nil {
		lines = append(lines, "At the edge of what was tried: "+strings.Join(c.Edge, ", ")+". Values beyond may do better.")
	}
	if c.Verdict == nil {
		lines = append(lines, "Whether it lowers the NLL of the classifier is told where nc is among the methods: --method nc,"+c.Method+".")
	}
	return lines
}

// chosenStatements are the choices as a page shows them.
func chosenStatements(f *Findings) []report.Statement {
	choices := f.Choices()
	said := data.Each(choices, func(c Choice) report.Statement {
		s := report.Statement{Lines: c.Lines(), Commands: c.Commands}
		if len(choices) > 1 {
			s.Title = c.title
		}
		return s
	})
	if over := f.overAll(); over != "" {
		said = append(said, report.Statement{Lines: []string{over}})
	}
	return said
}

// validationSection is what was chosen, and by what.
func validationSection(swept []Swept) View {
	return func(f *Findings) *report.Section {
		return &report.Section{
			Title: "Chosen on validation rows", Note: "Settings are chosen by " + heldOutNote + ".",
			Tables:  []*report.Table{f.settings("Settings by their NLL on validation rows, mean and standard deviation over the seeds; the chosen first.", validation, fitSeconds), f.marginalTable("NLL on validation rows and cost of a fit for each value, the other settings averaged.", swept, validation, fitSeconds)},
			Figures: f.marginalFigures("validation", swept, validation),
		}
	}
}

// testSection is what the settings reach on rows that they were not chosen on.
func testSection(swept []Swept) View {
	return func(f *Findings) *report.Section {
		shown := append([]quantity{sharedMetric(metrics.NLL), sharedMetric(metrics.Accuracy), sharedMetric(metrics.ECE), sharedMetric(metrics.LCE)}, f.others()...)
		return &report.Section{
			Title: "On test rows", Note: "The settings on rows that had no part in the choice, in the order of the table above. Do not choose by these numbers: they come from the test rows.",
			Tables:  []*report.Table{f.settings("The same settings on test rows.", shown...), f.marginalTable("NLL on test rows for each value, the other settings averaged.", swept, sharedMetric(metrics.NLL))},
			Figures: f.marginalFigures("test", swept, sharedMetric(metrics.NLL)),
		}
	}
}

// settings is a table of quantities of every setting, the chosen first.
func (f *Findings) settings(caption string, columns ...quantity) *report.Table {
	t := &report.Table{Caption: caption, Labels: f.heads(), Values: headsOf(columns)}
	for _, s := range f.chosenFirst() {
		for i, r := range s.rows {
			t.Add(s.Title(), report.Row{Labels: r.labels, Winner: i == 0, Cells: data.Each(columns, func(q quantity) report.Cell { return q.cell(r.spread(q)) })})
		}
	}
	return t
}

// cell is the quantity without a mark; seconds have two decimals.
func (q quantity) cell(x metrics.Spread) report.Cell {
	if q.unranked && !math.IsNaN(x.Mean) {
		return report.Cell{Text: metrics.Fixed(x.Mean, 2)}
	}
	return report.Cell{Text: x.Format(q.metric), Value: x}
}

// marginal is a value of a setting with the rows of a method that have it.
type marginal struct {
	method, value string
	rows          []*row
}

// marginals are those of the setting, method by method, by its values in the order in which they were given.
func (s *subject) marginals(swept Swept) (all []marginal) {
	field := swept.field()
	methods := data.Each(s.rows, func(r *row) string { return r.spec.Method })
	slices.Sort(methods)
	for _, method := range slices.Compact(methods) {
		for _, value := range swept.Values {
			m := marginal{method: method, value: value}
			for _, r := range s.rows {
				if r.spec.Method == method && field.Of(r.spec) == value && len(r.results) > 0 {
					m.rows = append(m.rows, r)
				}
			}
			if m.rows != nil {
				all = append(all, m)
			}
		}
	}
	return all
}

// spread is the quantity over the rows, each the mean of its seeds.
func (m marginal) spread(q quantity) metrics.Spread {
	return metrics.NewSpread(data.Each(m.rows, func(r *row) float64 { return r.spread(q).Mean }))
}

// marginalTable shows, for each value of each setting, the quantities averaged over the other settings.
func (f *Findings) marginalTable(caption string, swept []Swept, columns ...quantity) *report.Table {
	t := &report.Table{Caption: caption, Labels: []string{"Method", "setting", "value"}, Values: append(report.Heads("combinations"), headsOf(columns)...)}
	for _, s := range f.subjects() {
		for _, key := range swept {
			for _, m := range s.marginals(key) {
				cells := data.Each(columns, func(q quantity) report.Cell { return q.cell(m.spread(q)) })
				t.Add(s.Title(), report.Row{Labels: []string{f.Settings.Catalog.Title(m.method), key.Key, m.value}, Cells: append(report.Texts(len(m.rows)), cells...)})
			}
		}
	}
	return t
}

// marginalFigures show a quantity along the values of each setting, the other settings averaged, with their standard
// deviation.
func (f *Findings) marginalFigures(name string, swept []Swept, q quantity) (all []*report.Drawing) {
	for _, s := range f.subjects() {
		var panels []report.LinePanel
		for _, key := range swept {
			at, log := key.axis()
			panel := report.LinePanel{Title: key.Key, X: key.Key, Y: q.title, Log: log, Places: map[float64]string{}}
			for _, m := range s.marginals(key) {
				line, x, v := lineOf(&panel.Series, f.Settings.Catalog, m.method), at[m.value], m.spread(q)
				panel.Places[x] = m.value
				line.X, line.Mean, line.SD = append(line.X, x), append(line.Mean, v.Mean), append(line.SD, v.SD)
			}
			if panel.Series != nil {
				panels = append(panels, panel)
			}
		}
		caption := strings.ToUpper(q.title[:1]) + q.title[1:] + " of %s for each value of a setting, the other settings averaged; the band is their standard deviation."
		all = append(all, s.drawing("sweep-"+name, caption, report.Lines(panels))...)
	}
	return all
}

// axis is where each value stands: numbers at themselves, on a logarithmic axis where all are positive and the largest
// is some times the smallest; words side by side.
func (s Swept) axis() (at map[string]float64, log bool) {
	const wide = 4
	at = map[string]float64{}
	numbers := numbersIn(s.Values)
	for i, value := range s.Values {
		if at[value] = float64(i); numbers != nil {
			at[value] = numbers[i]
		}
	}
	if numbers == nil {
		return at, false
	}
	least := slices.Min(numbers)
	return at, least > 0 && slices.Max(numbers) >= wide*least
}

// sweepColumns are what results.csv has of a sweep before the metrics of the test rows.
func (f *Findings) sweepColumns() (all columns) {
	if !f.Study.Judging.HeldOut {
		return nil
	}
	for _, field := range f.Study.Vary {
		if field.Head != byMethod.Head {
			all = append(all, column{field.Head, func(_ Cell, r *Result) string { return field.Of(r.Spec) }})
		}
	}
	all.add(validation.key, validation.value)
	return all
}

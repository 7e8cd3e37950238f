package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"calibra/experiments/metrics"
	"calibra/experiments/verdict"
)

// Evaluation is the page of an evaluation of predictions from a file, by draws of the seed: what was measured, what was
// found, the pictures, and parts of the rows. v is the verdict, nil for none.
func Evaluation(from string, seed uint64, r *metrics.Report, v *verdict.Verdict, pictures []*Section) *Document {
	d := &Document{
		Title: "Evaluation of " + from,
		Intro: fmt.Sprintf("%s, %d classes, protocol %s", rowsText(r), r.Classes, r.Protocol),
		Facts: []Fact{
			{Name: "Protocol", Value: r.Protocol.String()},
			{Name: "Bins", Value: fmt.Sprintf("%d, %s", r.Settings.Bins, r.Settings.Binning)},
			{Name: "Bandwidth", Value: r.Settings.Kernel()},
			{Name: "Bootstrap replicates", Value: fmt.Sprint(r.Uncertainty.Replicates)},
			{Name: "Redraws of the labels", Value: fmt.Sprint(r.Uncertainty.Redraws)},
			{Name: "Seed", Value: fmt.Sprint(seed)},
		},
	}
	if v != nil {
		d.Verdict = []Statement{Stated(v)}
	}
	d.Terminal = []Part{{Lines: []string{d.Intro}}}
	if d.Intro += "."; r.Copies != nil {
		d.Intro += fmt.Sprintf(" %s.", r.Copies)
	}
	d.Show(&Section{Title: "Metrics", Note: metricsNote, Tables: []*Table{measuredTable(r, "metric", nllFirst(r.Measured()))}})
	where := pictures[:min(1, len(pictures))]
	d.Sections = append(d.Sections, where...)
	if r.Decomposition != nil {
		parts := measuredTable(r, "part of the score", r.Decomposition.Measured())
		d.Show(&Section{Title: "Parts of the scores", Note: partsNote, Tables: []*Table{parts}})
	}
	d.Show(&Section{Title: "What was found", Lines: besidesTables(r)})
	d.Sections = append(d.Sections, pictures[len(where):]...)
	if r.Sets != nil {
		d.Show(coverageSection(r.Sets))
	}
	if r.ByClass != nil {
		d.Show(partsSection("Classes", "class", "How often each class is true and its mean probability; "+
			"accuracy, confidence and NLL of the rows whose label it is.", r.ByClass))
	}
	if r.ByGroup != nil {
		groups := partsSection("Groups", "group", "The rows of each group; "+
			"calibrated predictions are right as often as they are confident.", r.ByGroup)
		groups.Tables = append(groups.Tables, multicalibrationTable(r.Multicalibration))
		d.Show(groups)
	}
	return d
}

// nllFirst are the numbers with the NLL, by which a verdict judges, before the others.
func nllFirst(all []metrics.Measured) []metrics.Measured {
	at := max(0, slices.IndexFunc(all, func(m metrics.Measured) bool { return m.Key == metrics.NLL.String() }))
	return slices.Concat(all[at:at+1], all[:at], all[at+1:])
}

// metricsNote says what the columns of the metrics are.
const metricsNote = "Intervals are 95 %: Clopper–Pearson of the accuracy, " +
	"Student's t without skewness of NLL and Brier score (Hall 1992), bootstrap over the rows of the others, which few rows " +
	"raise: theirs are of the mean over samples of as many rows, and “of many rows” takes the noise floor off. " +
	"The noise floor is the same metric for labels that are redrawn from the predictions, " +
	"so that the predictions are perfectly calibrated. p is the chance of a value as extreme under perfect calibration."

// partsNote says what the parts of the scores are.
const partsNote = "Miscalibration is how much isotonic regression of the same rows lowers the score. " +
	"Uncertainty is the score of the class shares alone, and discrimination is how much lower the recalibrated " +
	"score is than that (CORP, Dimitriadis et al. 2021). With more than two classes, the Brier score is the sum over " +
	"the classes, and the recalibrated probabilities of the NLL are divided by their sum."

// rowsText is how many rows count, as about how many of one weight they do, and how many do not.
func rowsText(r *metrics.Report) string {
	var more []string
	if r.Effective > 0 {
		more = append(more, fmt.Sprintf("weights: %d rows count as about %.0f", r.Rows, r.Effective))
	}
	if r.Weightless > 0 {
		more = append(more, fmt.Sprintf("%d more have weight 0", r.Weightless))
	}
	if more == nil {
		return fmt.Sprintf("%d rows", r.Rows)
	}
	return fmt.Sprintf("%d rows (%s)", r.Rows, strings.Join(more, "; "))
}

// besidesTables are what was found besides the tables, a line each.
func besidesTables(r *metrics.Report) (lines []string) {
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	if !math.IsNaN(r.SmoothECE) {
		say("%s", smoothText(r))
	}
	if g := r.Recovered; g != nil {
		text := fmt.Sprintf("recoverable NLL: %s nats a row by the predictions alone (at least %s)",
			metrics.Signed(g.NLL.Global.Value, 5), metrics.Signed(g.NLL.Global.Low, 5))
		if g.LocalNLL != nil {
			text += fmt.Sprintf(", %s more by the embedding (at least %s)",
				metrics.Signed(g.NLL.Local.Value, 5), metrics.Signed(g.NLL.Local.Low, 5))
		}
		say("%s", text)
		if shared := g.Ties.String(); shared != "" {
			say("%s", shared)
		}
	}
	if l := r.LikelihoodRatio; l != nil {
		say("likelihood ratio test of calibration against vector scaling: χ² %.2f with %d degrees of freedom (p %s)",
			l.Statistic, l.Degrees, verdict.P(l.PValue))
	}
	if r.Multicalibration != nil {
		say("%s", multicalibrationText(r.Multicalibration))
	}
	if a := r.Anchors; a != nil {
		say("LCE is measured at %d of %d rows, with a standard error of %.2g; "+
			"its interval is of that error alone, and MLCE is the largest of these rows", a.Rows, r.Rows, a.SE)
	}
	if missing := r.Missing(); missing != "" {
		say("%s", missing)
	}
	if r.Floored.Much() {
		say("%s", FlooredText(r.Floored, r.Rows))
	}
	if lce, ece := r.Values[metrics.LCE], r.Values[metrics.ECE]; math.Abs(lce-ece) < sameError*ece {
		say("LCE is class-wise ECE here: in this embedding every row is near every other at bandwidth %s; "+
			"a smaller --bandwidth looks closer", r.Settings.Kernel())
	}
	return lines
}

// sameError is how near LCE lies to class-wise ECE, relative to it, where the kernel does not tell rows apart.
const sameError = .01

// measuredTable is a row for each number that was measured: its value and, as far as they were asked for, its interval,
// its noise floor, the floor's 95th percentile, what the metric exceeds it by, and how likely that is of calibrated
// predictions.
func measuredTable(r *metrics.Report, head string, measured []metrics.Measured) *Table {
	intervals, floors := r.Uncertainty.Replicates > 0, r.Uncertainty.Redraws > 0
	t := &Table{Labels: []string{head}, Values: Heads("value")}
	if intervals {
		t.Values = append(t.Values, Head{Text: "95 % interval", Drop: 1})
	}
	if intervals && floors {
		t.Values = append(t.Values, Head{Text: "of many rows", Drop: 2})
	}
	if floors {
		t.Values = append(t.Values, Head{Text: "noise floor"}, Head{Text: "95th pct", Drop: 3},
			Head{Text: "excess", Drop: 2}, Head{Text: "p calibrated"})
	}
	for _, m := range measured {
		texts := []any{metrics.Fixed(m.Value, 5)}
		if intervals {
			texts = append(texts, intervalText(m.Interval, 5))
		}
		if intervals && floors {
			texts = append(texts, intervalText(m.Many, 5))
		}
		if n := m.Noise; n != nil {
			texts = append(texts, fmt.Sprintf("%.5f ± %.5f", n.Mean, n.SD), fmt.Sprintf("%.5f", n.P95), metrics.Signed(n.Excess, 5),
				verdict.PAmong(n.PValue, r.Uncertainty.Redraws))
		}
		for len(texts) < len(t.Values) { // it has no floor
			texts = append(texts, "")
		}
		t.Add("", Row{Labels: []string{m.Title}, Cells: Texts(texts...)})
	}
	return t
}

// intervalText is an interval in so many decimals, "" where there is none.
func intervalText(i metrics.Interval, decimals int) string {
	if math.IsNaN(i.Low) {
		return ""
	}
	return metrics.Fixed(i.Low, decimals) + " – " + metrics.Fixed(i.High, decimals)
}

// smoothText is the smooth calibration error in a line.
func smoothText(r *metrics.Report) string {
	text := fmt.Sprintf("smooth ECE %.5f", r.SmoothECE)
	if i := r.SmoothInterval; !math.IsNaN(i.Low) {
		text += fmt.Sprintf(" (95 %% %.5f to %.5f)", i.Low, i.High)
	}
	if n := r.SmoothNoise; n != nil {
		text += fmt.Sprintf(", floor %.5f (p %s)", n.Mean, verdict.PAmong(n.PValue, r.Uncertainty.Redraws))
	}
	return text
}

// mostParts is how many classes or groups a table shows.
const mostParts = 50

// partsSection is a row for each class or group, named below head.
func partsSection(title, head, note string, all []metrics.Part) *Section {
	heads := append(Heads("rows", "accuracy", "confidence", "NLL"),
		Head{Text: "share", Drop: 1}, Head{Text: "predicted", Drop: 1})
	if !slices.ContainsFunc(all, func(p metrics.Part) bool { return p.Share > 0 }) {
		heads = heads[:4] // groups have no share
	}
	t := &Table{Labels: []string{head}, Values: heads}
	for _, p := range all[:min(len(all), mostParts)] {
		cells := Texts(metrics.Fixed(p.Rows, 0))
		for _, x := range []float64{p.Accuracy, p.Confidence, p.NLL, p.Share, p.Predicted} {
			cells = append(cells, Texts(metrics.Fixed(x, 4))...)
		}
		t.Add("", Row{Labels: []string{p.Name}, Cells: cells[:len(heads)]})
	}
	if more := len(all) - mostParts; more > 0 {
		note += fmt.Sprintf(" %d more are in the JSON.", more)
	}
	return &Section{Title: title, Note: note, Tables: []*Table{t}}
}

// multicalibrationTable is a row for all rows and for each group, in its worst class, the worst first.
func multicalibrationTable(m *metrics.Multicalibration) *Table {
	t := &Table{Labels: []string{"calibration of group", "class"}, Values: Heads("rows", "ECCE", "sigma", "p", "p of all")}
	worst := slices.Clone(m.Groups)
	slices.SortStableFunc(worst, func(a, b metrics.Segment) int { return cmp.Compare(b.Sigma, a.Sigma) })
	for _, s := range worst[:min(len(worst), mostParts)] {
		cells := Texts(metrics.Fixed(float64(s.Rows), 0), metrics.Fixed(s.ECCE, 4), metrics.Fixed(s.Sigma, 2),
			verdict.P(s.PValue), verdict.P(s.Adjusted))
		t.Add("", Row{Labels: []string{cmp.Or(s.Group, "all rows"), s.Class}, Cells: cells})
	}
	return t
}

// multicalibrationText says in a line which group is worst, if it is so beyond chance.
func multicalibrationText(m *metrics.Multicalibration) string {
	worst := "no group or class is wrong beyond chance"
	if m.BeyondChance {
		s := slices.MinFunc(m.Groups, func(a, b metrics.Segment) int { return cmp.Compare(a.Adjusted, b.Adjusted) })
		worst = fmt.Sprintf("the worst is %s in class %s", cmp.Or(s.Group, "all rows"), s.Class)
	}
	return fmt.Sprintf("multicalibration error %.5f, %.2f standard deviations of calibrated predictions "+
		"(p %s; %s over all groups and classes): %s",
		m.Error, m.Sigma, verdict.P(m.PValue), verdict.P(m.Adjusted), worst)
}

// coverageSection is a row for all rows and one for each region.
func coverageSection(c *metrics.SetCoverage) *Section {
	t := &Table{Labels: []string{"prediction sets of region"},
		Values: Heads("rows", "coverage", "95 % interval", "classes", "marginal coverage", "classes")}
	add := func(name string, r metrics.Coverage) {
		interval := intervalText(metrics.Interval{Low: r.CI[0], High: r.CI[1]}, 3)
		t.Add("", Row{Labels: []string{name}, Cells: Texts(r.Rows, metrics.Fixed(r.Coverage, 3), interval,
			metrics.Fixed(r.Size, 2), metrics.Fixed(r.Marginal, 3), metrics.Fixed(r.MarginalSize, 2))})
	}
	add("all", c.All)
	least, leastMarginal := math.Inf(1), math.Inf(1)
	for k, r := range c.Regions {
		if r.Rows > 0 {
			add(fmt.Sprint(k), r)
			least, leastMarginal = min(least, r.Coverage), min(leastMarginal, r.Marginal)
		}
	}
	return &Section{Title: "Prediction sets", Tables: []*Table{t},
		Lines: []string{fmt.Sprintf("least covered region: %.3f, by marginal sets %.3f", least, leastMarginal)}}
}

// FlooredText says how many of the rows were given too small a probability, and what that does to NLL.
func FlooredText(f *metrics.Floored, rows int) string {
	return fmt.Sprintf("%d of %d rows give their label a probability of 1e-12 or less, which counts as 1e-12; "+
		"they bear %.1f %% of the NLL", f.Rows, rows, 100*f.Share)
}

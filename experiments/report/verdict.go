package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"calibra/data"
	"calibra/experiments/metrics"
)

// Candidate is a method that a verdict weighs: what it shows on the test rows of one data set.
type Candidate struct {
	Name     string  `json:"method"`
	Title    string  `json:"-"` // as the tables write its row
	NLL      float64 `json:"nll"`
	Accuracy float64 `json:"accuracy"`
	Effort   int     `json:"-"` // how simple it is: of methods that do not differ significantly the least is enough
	called   string  // in sentences, of the one without calibration; "" is the classifier as it is
}

// Difference is how far a method lies from another in an error on the same test rows. Below 0
// the method is the better one.
type Difference struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"` // of the interval
	High  float64 `json:"high"`
	P     float64 `json:"p"`               // of no difference, adjusted for all methods (Holm 1979)
	Level float64 `json:"level,omitempty"` // of the interval; 0 is .95
}

// NewDifference is the comparison with its p by Holm.
func NewDifference(c metrics.Comparison, holm float64) *Difference {
	return &Difference{Value: c.Difference, Low: c.Interval.Low, High: c.Interval.High, P: holm}
}

// told reports whether the difference is more than chance at 5 %.
func (d *Difference) told() bool { return d != nil && d.P < 0.05 }

// String is "−.0718 (95 % −.0781 to −.0660, p ≤ 1e-6)".
func (d *Difference) String() string {
	return fmt.Sprintf("%s (%.0f %% %s to %s, %s)", nats(d.Value), 100*cmp.Or(d.Level, .95), nats(d.Low), nats(d.High), pEquals(d.P))
}

// Verdict names which of some methods to use on one data set, and how sure that is.
type Verdict struct {
	Data    string   `json:"data,omitempty"`
	Rows    int      `json:"test_rows"`
	Best    string   `json:"best"`    // the method of the least NLL
	Use     string   `json:"use"`     // the simplest that is not significantly worse
	Tied    []string `json:"tied"`    // those that are not significantly worse, the simplest first
	Harmful []string `json:"harmful"` // those that are worse than the classifier as it is
	// Methods are all of them, from the least NLL on.
	Methods  []*Judged `json:"methods"`
	Commands []string  `json:"commands,omitempty"` // that fit what to use, and apply it
	Says     []string  `json:"says"`               // the verdict in sentences
	asItIs   string    // what the classifier without calibration is called
}

// Judged is a method in a verdict. Its differences are in NLL, and in the share of rows whose
// top class is wrong; nil for the method itself and where they are not known.
type Judged struct {
	Candidate
	ToClassifier *Difference `json:"nll_to_classifier,omitempty"`
	ErrorsTo     *Difference `json:"errors_to_classifier,omitempty"`
	ToBest       *Difference `json:"nll_to_best,omitempty"`
	ErrorsToBest *Difference `json:"errors_to_best,omitempty"`
	Harms        bool        `json:"harms"`
}

// MarshalJSON writes the method without what is not known of it.
func (j *Judged) MarshalJSON() ([]byte, error) {
	type plain Judged
	known := func(x float64) *float64 {
		if math.IsNaN(x) {
			return nil
		}
		return &x
	}
	return json.Marshal(struct {
		Name     string   `json:"method"`
		NLL      *float64 `json:"nll"`
		Accuracy *float64 `json:"accuracy,omitempty"`
		*plain
	}{Name: j.Name, NLL: known(j.NLL), Accuracy: known(j.Accuracy), plain: (*plain)(j)})
}

// Classifier is the name of the method that leaves the classifier as it is.
const Classifier = "nc"

// Judge weighs the candidates; classifier is the place of the one that is the classifier as it
// is, −1 if there is none. differences gives those of all candidates to one of them in NLL
// or in accuracy, of which it is the share of wrong rows; nil where they are not known. Without
// a candidate that has an NLL the verdict is nil.
func Judge(candidates []Candidate, classifier int, differences func(m metrics.Metric, reference int) ([]*Difference, error)) (*Verdict, error) {
	best := -1
	for i, c := range candidates {
		if !math.IsNaN(c.NLL) && (best < 0 || c.NLL < candidates[best].NLL) {
			best = i
		}
	}
	if best < 0 {
		return nil, nil
	}
	v := &Verdict{Best: candidates[best].Name, Tied: []string{}, Harmful: []string{}, asItIs: "the classifier as it is"}
	if classifier >= 0 {
		v.asItIs = cmp.Or(candidates[classifier].called, v.asItIs)
	}
	judged, err := judgedBy(candidates, best, classifier, differences)
	if err != nil {
		return nil, err
	}
	first := judged[best]
	var tied []*Judged
	for _, j := range judged {
		if j.ToBest != nil && !j.ToBest.told() && !j.Harms {
			tied = append(tied, j)
		}
	}
	v.Methods = slices.DeleteFunc(slices.Clone(judged), func(j *Judged) bool { return math.IsNaN(j.NLL) })
	slices.SortStableFunc(v.Methods, func(a, b *Judged) int { return cmp.Compare(a.NLL, b.NLL) })
	slices.SortStableFunc(tied, func(a, b *Judged) int { return cmp.Compare(a.Effort, b.Effort) })
	use := v.useful(first, tied)
	v.Use = use.Name
	for _, j := range tied {
		v.Tied = append(v.Tied, j.Name)
	}
	var harmful []*Judged
	for _, j := range v.Methods {
		if j.Harms {
			v.Harmful, harmful = append(v.Harmful, j.Name), append(harmful, j)
		}
	}
	v.Says = v.sentences(first, use, tied, harmful, judged, classifier)
	return v, nil
}

// judgedBy are the candidates with their differences to the best and to the classifier.
func judgedBy(candidates []Candidate, best, classifier int, differences func(m metrics.Metric, reference int) ([]*Difference, error)) ([]*Judged, error) {
	judged := make([]*Judged, len(candidates))
	for i, c := range candidates {
		judged[i] = &Judged{Candidate: c}
	}
	for _, to := range []struct {
		metric    metrics.Metric
		reference int
		field     func(*Judged) **Difference
	}{
		{metrics.NLL, best, func(j *Judged) **Difference { return &j.ToBest }},
		{metrics.Accuracy, best, func(j *Judged) **Difference { return &j.ErrorsToBest }},
		{metrics.NLL, classifier, func(j *Judged) **Difference { return &j.ToClassifier }},
		{metrics.Accuracy, classifier, func(j *Judged) **Difference { return &j.ErrorsTo }},
	} {
		if to.reference < 0 {
			continue
		}
		all, err := differences(to.metric, to.reference)
		if err != nil {
			return nil, err
		}
		for i, d := range all {
			*to.field(judged[i]) = d
		}
	}
	for _, j := range judged {
		j.Harms = j.ToClassifier.told() && j.ToClassifier.Value > 0 || j.ErrorsTo.told() && j.ErrorsTo.Value > 0
	}
	return judged, nil
}

// useful is the method to use: the one of least effort that is not significantly worse than the first and
// harms nothing, if the first harms or takes more.
func (v *Verdict) useful(first *Judged, tied []*Judged) *Judged {
	use := first
	if first.Harms { // in accuracy
		if i := slices.IndexFunc(v.Methods, func(j *Judged) bool { return !j.Harms }); i >= 0 {
			use = v.Methods[i]
		}
	}
	if len(tied) > 0 && (first.Harms || tied[0].Effort < use.Effort) {
		use = tied[0]
	}
	return use
}

// bestLine names the best, and how it compares with the classifier.
func (v *Verdict) bestLine(first *Judged, all []*Judged, classifier int) string {
	switch {
	case len(all) == 1:
		return fmt.Sprintf("%s is the only one: NLL %s, accuracy %s.", first.Title, nats(first.NLL), share(first.Accuracy))
	case classifier < 0:
		return fmt.Sprintf("%s is best: NLL %s, accuracy %s. The classifier as it is (nc) was not compared, so what calibration gains is not known.", first.Title, nats(first.NLL), share(first.Accuracy))
	case all[classifier] == first:
		return fmt.Sprintf("Nothing improves %s: NLL %s, accuracy %s.", v.asItIs, nats(first.NLL), share(first.Accuracy))
	}
	line := fmt.Sprintf("%s is best: NLL %s → %s", first.Title, nats(all[classifier].NLL), nats(first.NLL))
	if !math.IsNaN(first.Accuracy) {
		line += fmt.Sprintf(", accuracy %s → %s", share(all[classifier].Accuracy), share(first.Accuracy))
	}
	if d := first.ToClassifier; d != nil {
		line += fmt.Sprintf("; difference to %s: NLL %v", v.asItIs, d)
	}
	if d := first.ErrorsTo; d != nil && d.Value != 0 {
		line += fmt.Sprintf(", share of wrong rows %v", d)
	}
	return line + "."
}

// harmLine names the methods that harm, and by how much.
func (v *Verdict) harmLine(harmful, all []*Judged, classifier int) string {
	var out []string
	for _, j := range harmful[:min(3, len(harmful))] {
		line := j.Title + ": "
		if d := j.ToClassifier; d != nil {
			line += "NLL " + signed(d.Value)
		}
		if d := j.ErrorsTo; d.told() && d.Value > 0 {
			line += fmt.Sprintf(", accuracy %s → %s", share(all[classifier].Accuracy), share(j.Accuracy))
		}
		out = append(out, line)
	}
	if n := len(harmful) - len(out); n > 0 {
		out = append(out, fmt.Sprintf("and %d more", n))
	}
	return "Harm: " + strings.Join(out, "; ") + ". Worse than " + v.asItIs + " by more than chance."
}

// sentences are the verdict in words: what is best, what is enough, what harms.
func (v *Verdict) sentences(first, use *Judged, tied, harmful, all []*Judged, classifier int) []string {
	titles := func(of []*Judged) string {
		const most = 6
		out := data.Each(of, func(j *Judged) string { return j.Title })
		if len(out) > most {
			out = append(out[:most], fmt.Sprintf("%d more", len(out)-most))
		}
		return listed(out)
	}
	text := []string{v.bestLine(first, all, classifier)}
	switch {
	case len(all) == 1:
	case len(tied) == 0 && len(all) == 2 && classifier >= 0:
	case len(tied) == 0:
		text = append(text, "Every other method is significantly worse (5 %).")
	default:
		line := fmt.Sprintf("%s %s not significantly worse", titles(tied), isAre(len(tied)))
		if use != first && slices.Contains(tied, use) {
			line += fmt.Sprintf("; %s is enough: within %s nats at 95 %%", use.Title, nats(max(use.ToBest.High, 0)))
		}
		text = append(text, line+".")
	}
	if len(harmful) > 0 {
		text = append(text, v.harmLine(harmful, all, classifier))
	}
	if first.Harms && !use.Harms {
		text = append(text, fmt.Sprintf("%s harms nothing: NLL %s, accuracy %s.", use.Title, nats(use.NLL), share(use.Accuracy)))
	}
	return text
}

// Text is the verdict in sentences.
func (v *Verdict) Text() []string { return v.Says }

// Statement is the verdict as a page shows it.
func (v *Verdict) Statement() Statement {
	return Statement{Title: v.Data, Lines: v.Says, Commands: v.Commands}
}

func isAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// listed is "a", "a and b", "a, b and c".
func listed(words []string) string {
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
	}
	return strings.Join(words, "")
}

// share is a share of rows, ".9477".
func share(x float64) string {
	if math.IsNaN(x) {
		return "unknown"
	}
	return nats(x)
}

// nats is a number of four decimals without its leading 0, with a minus sign of its own.
func nats(x float64) string {
	text := strings.TrimPrefix(fmt.Sprintf("%.4f", math.Abs(x)), "0")
	if x < 0 && text != ".0000" {
		return "−" + text
	}
	return text
}

// signed is nats with its sign always.
func signed(x float64) string {
	if text := nats(x); strings.HasPrefix(text, "−") || text == ".0000" {
		return text
	}
	return "+" + nats(x)
}

// leastP is below what a p-value is written as a bound: no test of so many rows knows it better.
const leastP = 1e-6

// P writes a p-value, below a millionth as a bound.
func P(p float64) string {
	if p < leastP {
		return "≤ 1e-6"
	}
	return fmt.Sprintf("%.2g", p)
}

// pEquals is P with its letter: "p = .03", "p ≤ 1e-6".
func pEquals(p float64) string { return equals(P(p)) }

// equals is a p-value, or its bound, with its letter.
func equals(text string) string {
	if strings.HasPrefix(text, "≤") {
		return "p " + text
	}
	return "p = " + text
}

// PAmong is the p-value of a test by so many redraws, the least it can show as a bound: "≤ 1/51".
func PAmong(p float64, redraws int) string {
	if least := 1 / float64(redraws+1); p <= least*(1+1e-9) {
		return fmt.Sprintf("≤ 1/%d", redraws+1)
	}
	return fmt.Sprintf("%.3f", p)
}

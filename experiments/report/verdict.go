package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"calibra/data"
	"calibra/experiments/metrics"

	"gonum.org/v1/gonum/stat/distuv"
)

// Candidate is a method that a verdict weighs: what it shows on the test rows of one data set.
type Candidate struct {
	Name     string  `json:"method"`
	Title    string  `json:"-"` // as the tables write its row
	NLL      float64 `json:"nll"`
	Accuracy float64 `json:"accuracy"`
	Effort   int     `json:"-"` // how simple it is: of methods that do not differ significantly the least is enough
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

// lowered is the difference as what is gained: "by .0718 (95 % .0660 to .0781, p ≤ 1e-6)".
func (d *Difference) lowered() string {
	return "by " + (&Difference{-d.Value, -d.High, -d.Low, d.P, d.Level}).String()
}

// half is half the width of the interval.
func (d *Difference) half() float64 { return (d.High - d.Low) / 2 }

// Say is what a verdict says.
type Say string

// What verdicts say, and nothing else.
const (
	Use        Say = "use"               // the method: it lowers the NLL
	Leave      Say = "leave it as it is" // nothing lowers the NLL by what would matter
	DoNotUse   Say = "do not use"        // the method that was asked for: it raises the NLL
	CannotTell Say = "cannot tell yet"   // the rows are too few
)

const (
	// tooSmall is the share of the NLL below which a difference does not matter, however sure it is.
	tooSmall = 1e-3
	// worthShare of the NLL, or worthNats, is what may be left to gain where the classifier is left as it is.
	worthShare, worthNats = .02, .002
)

// Verdict says what to do with a classifier, by what some methods show on the same test rows, in one sentence with one
// number, its interval and its p, and in at most three lines why.
type Verdict struct {
	Data string `json:"data,omitempty"`
	Rows int    `json:"test_rows"`
	Say  Say    `json:"say"`
	// Method is what to use, or not to use, or what may be worth more rows; the classifier where nothing is.
	Method string `json:"method"`
	// Of the method's NLL less the classifier's; 0 where there is none.
	Difference float64 `json:"difference"`
	Low        float64 `json:"low"`
	High       float64 `json:"high"`
	P          float64 `json:"p"`
	// RowsNeeded are about as many test rows as would show the difference, where it cannot be told.
	RowsNeeded int      `json:"rows_needed,omitempty"`
	Avoid      []string `json:"do_not_use"`         // methods that raise the NLL
	AsGood     []string `json:"as_good"`            // those that do not differ significantly from the lowest, the simplest first
	Sentence   string   `json:"sentence"`           // what it says
	Why        []string `json:"why"`                // at most three lines
	Commands   []string `json:"commands,omitempty"` // that fit what to use, and apply it
	// Methods are all of them, from the least NLL on.
	Methods []*Judged `json:"methods"`
}

// Judged is a method in a verdict. Its differences are in NLL, and in the share of rows whose
// top class is wrong; nil for the method itself and where they are not known.
type Judged struct {
	Candidate
	ToClassifier *Difference `json:"nll_to_classifier,omitempty"`
	ErrorsTo     *Difference `json:"errors_to_classifier,omitempty"`
	ToBest       *Difference `json:"nll_to_lowest,omitempty"`
	ErrorsToBest *Difference `json:"errors_to_lowest,omitempty"`
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
// is, −1 if there is none, and rows are those that all were tested on. differences gives those of all candidates to one of
// them in NLL or in accuracy, of which it is the share of wrong rows; nil where they are not known. Without
// a candidate that has an NLL the verdict is nil.
//
// A method is to be used that lowers the NLL by more than chance (Holm over all methods, 5 %) and by what matters; of
// those that do not differ significantly from the lowest it is the simplest, and one that costs accuracy only where none
// else is there. Where none is, the classifier is left as it is if no interval leaves more to be gained than is worth
// more rows, or if everything raises the NLL in these rows by that much.
func Judge(rows int, candidates []Candidate, classifier int, differences func(m metrics.Metric, reference int) ([]*Difference, error)) (*Verdict, error) {
	lowest := -1
	for i, c := range candidates {
		if !math.IsNaN(c.NLL) && (lowest < 0 || c.NLL < candidates[lowest].NLL) {
			lowest = i
		}
	}
	if lowest < 0 {
		return nil, nil
	}
	judged, err := judgedBy(candidates, lowest, classifier, differences)
	if err != nil {
		return nil, err
	}
	v := &Verdict{Rows: rows, Method: Classifier, Avoid: []string{}, AsGood: []string{}, Why: []string{}}
	v.Methods = slices.DeleteFunc(slices.Clone(judged), func(j *Judged) bool { return math.IsNaN(j.NLL) })
	slices.SortStableFunc(v.Methods, func(a, b *Judged) int { return cmp.Compare(a.NLL, b.NLL) })
	for _, j := range v.byEffort() {
		if j != judged[lowest] && j.ToBest != nil && !j.ToBest.told() {
			v.AsGood = append(v.AsGood, j.Name)
		}
	}
	if classifier < 0 || math.IsNaN(candidates[classifier].NLL) {
		v.withoutClassifier()
		return v, nil
	}
	v.decide(judged[classifier])
	return v, nil
}

// byEffort are the methods, the simplest first.
func (v *Verdict) byEffort() []*Judged {
	return slices.SortedStableFunc(slices.Values(v.Methods), func(a, b *Judged) int { return cmp.Compare(a.Effort, b.Effort) })
}

// judgedBy are the candidates with their differences to the lowest and to the classifier.
func judgedBy(candidates []Candidate, lowest, classifier int, differences func(m metrics.Metric, reference int) ([]*Difference, error)) ([]*Judged, error) {
	judged := make([]*Judged, len(candidates))
	for i, c := range candidates {
		judged[i] = &Judged{Candidate: c}
	}
	for _, to := range []struct {
		metric    metrics.Metric
		reference int
		field     func(*Judged) **Difference
	}{
		{metrics.NLL, lowest, func(j *Judged) **Difference { return &j.ToBest }},
		{metrics.Accuracy, lowest, func(j *Judged) **Difference { return &j.ErrorsToBest }},
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
	return judged, nil
}

// withoutClassifier is the verdict where nobody knows what calibration gains.
func (v *Verdict) withoutClassifier() {
	first := v.Methods[0]
	v.Say, v.Method = CannotTell, first.Name
	v.Sentence = "Cannot tell yet. The classifier as it is (nc) was not compared, so what calibration gains is not known; add nc to the methods."
	v.Why = append(v.Why, fmt.Sprintf("%s has the lowest NLL, %s.%s", first.Title, nats(first.NLL), v.alike(first)))
}

// decide chooses what to say beside the classifier.
func (v *Verdict) decide(nc *Judged) {
	matters := tooSmall * nc.NLL
	var better, slight, worse, open []*Judged
	for _, j := range v.Methods {
		d := j.ToClassifier
		switch {
		case j == nc || d == nil:
		case d.told() && d.Value < -matters:
			better = append(better, j)
		case d.told() && d.Value < 0:
			slight = append(slight, j)
		case d.told() && d.Value > matters:
			worse = append(worse, j)
		default:
			open = append(open, j)
		}
	}
	for _, j := range worse {
		v.Avoid = append(v.Avoid, j.Name)
	}
	switch {
	case better != nil:
		v.use(nc, better)
	case worse != nil && slight == nil && open == nil:
		v.Say = DoNotUse
		v.of(worse[0])
		v.Sentence = doNotUse(worse)
	case slight != nil:
		v.Say = Leave
		v.of(slight[0])
		v.Sentence = fmt.Sprintf("Leave it as it is. %s lowers the NLL %s, too small to matter.", upper(slight[0].Title), slight[0].ToClassifier.lowered())
	default:
		v.leave(nc, open)
	}
	if v.Say != DoNotUse && worse != nil {
		v.Why = append(v.Why, doNotUse(worse))
	}
}

// of gives the verdict the method and its difference to the classifier.
func (v *Verdict) of(j *Judged) {
	d := j.ToClassifier
	v.Method, v.Difference, v.Low, v.High, v.P = j.Name, d.Value, d.Low, d.High, d.P
}

// use says which of the better methods to use.
func (v *Verdict) use(nc *Judged, better []*Judged) {
	costs := func(j *Judged) bool { return j.ErrorsTo.told() && j.ErrorsTo.Value > 0 }
	if slices.ContainsFunc(better, func(j *Judged) bool { return !costs(j) }) {
		better = slices.DeleteFunc(better, costs)
	}
	first, use := better[0], better[0]
	for _, j := range better[1:] {
		if (first != v.Methods[0] || slices.Contains(v.AsGood, j.Name)) && j.Effort < use.Effort && !differs(first, j) {
			use = j
		}
	}
	v.Say = Use
	v.of(use)
	v.Sentence = fmt.Sprintf("Use %s. It lowers the NLL %s.", use.Title, use.ToClassifier.lowered())
	line := fmt.Sprintf("NLL %s → %s", nats(nc.NLL), nats(use.NLL))
	if d := use.ErrorsTo; d.told() {
		line += fmt.Sprintf("; accuracy %s → %s (%s)", share(nc.Accuracy), share(use.Accuracy), pEquals(d.P))
	}
	v.Why = append(v.Why, line+".")
	switch {
	case use != first:
		v.Why = append(v.Why, fmt.Sprintf("It is the simplest of those whose NLL differs by no more than chance from the lowest, %s of %s.", nats(first.NLL), first.Title))
	default:
		if text := v.alike(use); text != "" {
			v.Why = append(v.Why, strings.TrimSpace(text))
		}
	}
}

// differs reports whether the second differs significantly from the first, where that is the lowest.
func differs(first, second *Judged) bool { return first.ToBest == nil && second.ToBest.told() }

// leave says that nothing is to be gained, or that it cannot be told yet.
func (v *Verdict) leave(nc *Judged, open []*Judged) {
	if open == nil {
		v.Say = Leave
		v.Sentence = "Leave it as it is. Nothing was compared with the classifier as it is."
		return
	}
	hope, most := open[0], 0.0
	for _, j := range open {
		if most = max(most, -j.ToClassifier.Low); j.ToClassifier.Value < hope.ToClassifier.Value {
			hope = j
		}
	}
	worth := max(worthShare*nc.NLL, worthNats)
	if d := hope.ToClassifier; d.Value < worth && most > worth {
		v.Say = CannotTell
		v.of(hope)
		v.RowsNeeded = rowsFor(v.Rows, d, worth)
		v.Sentence = fmt.Sprintf("Cannot tell yet. With %s rows a difference below %s cannot be seen; about %s rows would do.", thousands(v.Rows), nats(d.half()), thousands(v.RowsNeeded))
		line := "lowers the NLL " + d.lowered()
		if d.Value > 0 {
			line = "raises the NLL by " + d.String()
		}
		v.Why = append(v.Why, fmt.Sprintf("%s %s: no more than chance.", upper(hope.Title), line))
		return
	}
	v.Say = Leave
	v.Sentence = fmt.Sprintf("Leave it as it is. Nothing lowers the NLL by more than %s (95 %%).", nats(most))
	d := hope.ToClassifier
	v.Difference, v.Low, v.High, v.P = d.Value, d.Low, d.High, d.P
	v.Why = append(v.Why, fmt.Sprintf("%s comes nearest: NLL %s → %s, by %v.", upper(hope.Title), nats(nc.NLL), nats(hope.NLL), d))
}

// rowsFor is about how many rows show the difference d, or what is worth them, at 5 % four times in five, of two significant
// digits: by the paired variance, n ((z_.975 + z_.8) s / |d|)² where s is the standard error for n rows.
func rowsFor(n int, d *Difference, worth float64) int {
	const z, power = 1.959964, 0.841621
	level := distuv.UnitNormal.Quantile((1 + cmp.Or(d.Level, .95)) / 2)
	rows := float64(n) * math.Pow((z+power)*d.half()/level/max(math.Abs(d.Value), worth), 2)
	unit := math.Pow(10, math.Floor(math.Log10(rows))-1)
	return int(math.Ceil(max(rows, float64(n)+1)/unit) * unit)
}

// doNotUse is the sentence on methods that raise the NLL.
func doNotUse(worse []*Judged) string {
	if len(worse) == 1 {
		return fmt.Sprintf("Do not use %s. It raises the NLL by %v.", worse[0].Title, worse[0].ToClassifier)
	}
	most := worse[len(worse)-1].ToClassifier.Value
	return fmt.Sprintf("Do not use %s. They raise the NLL by %s to %s (p at most %s).", titles(worse), nats(worse[0].ToClassifier.Value), nats(most), P(slices.MaxFunc(worse, func(a, b *Judged) int { return cmp.Compare(a.ToClassifier.P, b.ToClassifier.P) }).ToClassifier.P))
}

// alike says which methods differ from the lowest by no more than chance, "" where none does.
func (v *Verdict) alike(than *Judged) string {
	var same []*Judged
	for _, j := range v.byEffort() {
		if j != than && slices.Contains(v.AsGood, j.Name) {
			same = append(same, j)
		}
	}
	switch len(same) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf(" %s differs from it by no more than chance.", upper(same[0].Title))
	}
	return fmt.Sprintf(" %s differ from it by no more than chance.", upper(titles(same)))
}

// titles are those of the methods, six at most.
func titles(of []*Judged) string {
	const most = 6
	out := data.Each(of, func(j *Judged) string { return j.Title })
	if len(out) > most {
		out = append(out[:most], fmt.Sprintf("%d more", len(out)-most))
	}
	return listed(out)
}

// upper is a title at the beginning of a sentence. Names of methods stay as they are.
func upper(title string) string {
	if strings.Contains(title, " ") {
		return strings.ToUpper(title[:1]) + title[1:]
	}
	return title
}

// ToUse is the method to use, the classifier as it is where none is.
func (v *Verdict) ToUse() string {
	if v.Say == Use {
		return v.Method
	}
	return Classifier
}

// Text is the verdict in sentences.
func (v *Verdict) Text() []string { return append([]string{v.Sentence}, v.Why...) }

// Statement is the verdict as a page shows it.
func (v *Verdict) Statement() Statement {
	return Statement{Title: v.Data, Lines: v.Text(), Commands: v.Commands}
}

// thousands is a whole number, "12,000".
func thousands(n int) string {
	text := strconv.Itoa(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
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

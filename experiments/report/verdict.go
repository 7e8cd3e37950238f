package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"calibra/data"
	"calibra/experiments/metrics"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"
)

// Candidate is a method that a verdict weighs: what it shows on the test rows of one data set.
type Candidate struct {
	Name     string  `json:"method"`
	Title    string  `json:"-"` // as the tables write its row
	NLL      float64 `json:"nll"`
	Accuracy float64 `json:"accuracy"`
	Effort   int     `json:"-"` // how simple it is: of methods that do not differ significantly the least is enough
	Unasked  bool    `json:"-"` // nobody asked for it: it may be what to use, and what not to use is never said of it

	Calibration *Calibration    `json:"-"` // nil where it was not measured
	Events      *metrics.Events `json:"-"` // of the test rows under its predictions; nil where nobody counted
	Cost        string          `json:"-"` // what using it costs, in a sentence; "" where nothing is worth a word
	Where       string          `json:"-"` // where it is wrong, in a sentence; "" where nobody looked
}

// Calibration is the calibration error of the top class beside its noise floor.
type Calibration struct {
	ECE   float64
	Floor float64 // what calibrated predictions would show; NaN where nobody measured it
}

// Difference is how far a method lies from another in an error on the same test rows. Below 0
// the method is the better one. Equal predictions have the difference 0, without an interval (NaN, and null in JSON).
type Difference struct {
	Value float64
	Low   float64 // of the interval
	High  float64
	P     float64 // of no difference, adjusted for all methods (Holm 1979)

	seeds float64 // the share of its variance that is from seed to seed, and that more rows leave as it is
}

// NewDifference is the comparison with its p by Holm.
func NewDifference(c metrics.Comparison, holm float64) *Difference {
	return &Difference{Value: c.Difference, Low: c.Interval.Low, High: c.Interval.High, P: holm, seeds: c.FromSeeds}
}

func (d *Difference) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Value float64  `json:"value"`
		Low   *float64 `json:"low"`
		High  *float64 `json:"high"`
		P     float64  `json:"p"`
	}{d.Value, known(d.Low), known(d.High), d.P})
}

// InPairs are the differences of methods in a metric, by their losses of the same rows, so tied, to one of them, with p by Holm over the first so
// many: those after them were asked about only once the first had been told, which leaves their p as it is.
func InPairs(m metrics.Metric, losses [][]float64, ties metrics.Ties, law func(i, reference int) (*metrics.Law, error), reference, family int) ([]*Difference, error) {
	out, p, at := make([]*Difference, len(losses)), []float64{}, []int{}
	for i := range losses {
		if i == reference {
			continue
		}
		var err error
		if ties.Law = nil; m == metrics.NLL {
			if ties.Law, err = law(i, reference); err != nil {
				return nil, err
			}
		}
		c, err := ties.Compare(m, losses[i], losses[reference])
		if err != nil {
			return nil, err
		}
		if out[i] = NewDifference(*c, c.PValue); i < family {
			p, at = append(p, c.PValue), append(at, i)
		}
	}
	for k, holm := range metrics.Holm(p) {
		out[at[k]].P = holm
	}
	return out, nil
}

// told reports whether the difference is more than chance at 5 %.
func (d *Difference) told() bool { return d != nil && d.P < 0.05 }

// String is "−.0718 (95 % −.0781 to −.0660, p ≤ 1e-6)", or "0, of equal predictions".
func (d *Difference) String() string {
	if math.IsNaN(d.Low) {
		return "0, of equal predictions"
	}
	digits := decimals(d.Value, d.Low, d.High)
	return fmt.Sprintf("%s (95 %% %s to %s, %s)", fixed(d.Value, digits), fixed(d.Low, digits), fixed(d.High, digits), pEquals(d.P))
}

// moves says what the method does to the NLL: "lowers the NLL by .0718 (95 % .0660 to .0781, p ≤ 1e-6)".
func (d *Difference) moves() string {
	switch {
	case d.none():
		return "does not change the NLL"
	case d.Value < 0:
		return "lowers the NLL by " + (&Difference{Value: -d.Value, Low: -d.High, High: -d.Low, P: d.P}).String()
	}
	return "raises the NLL by " + d.String()
}

// none reports whether there is no difference, or one that no number shows.
func (d *Difference) none() bool {
	return d.Value == 0 || max(math.Abs(d.Low), math.Abs(d.High)) < nothing
}

// most is the largest gain in the interval, 0 where there is none.
func (d *Difference) most() float64 {
	if !(d.Low < 0) {
		return 0
	}
	return -d.Low
}

// half is half the width of the interval.
func (d *Difference) half() float64 { return (d.High - d.Low) / 2 }

// Say is the answer of a verdict.
type Say string

// What verdicts say, and nothing else.
const (
	Use        Say = "use"               // the method: it lowers the NLL
	Leave      Say = "leave it as it is" // nothing lowers the NLL by what would matter
	DoNotUse   Say = "do not use"        // the method that was asked for: it raises the NLL
	CannotTell Say = "cannot tell yet"   // the rows are too few
	CheckRows  Say = "check the rows"    // they seem to be others than they should be
)

const (
	// tooSmall is the share of the NLL, and of the NLL of each class against the rest, below which a difference does not
	// matter, however sure it is.
	tooSmall = 1e-3
	// worthShare is the share of the NLL that may be left to gain where the classifier is left as it is.
	worthShare = .02
)

// mostWhy are the lines of a verdict's why at most.
const mostWhy = 3

// Verdict says what to do with a classifier, by what some methods show on the same test rows, in one sentence with one
// number, its interval and its p, and in at most three lines why.
type Verdict struct {
	Data string `json:"data,omitempty"`
	Rows int    `json:"test_rows"`
	Say  Say    `json:"say"`
	// Method is the method to use, or not to use, or the one that may be worth more rows; the classifier if it is left as it is.
	Method string `json:"method"`
	// Difference is the method's NLL minus the classifier's with its interval and p; if the classifier is left as it is, it is the
	// difference of the nearest method. All are NaN if nothing was tested, and null in JSON.
	Difference float64 `json:"difference"`
	Low        float64 `json:"low"`
	High       float64 `json:"high"`
	P          float64 `json:"p"`
	// RowsNeeded are about as many test rows as would show the difference, where it cannot be told for want of rows; 0, and null in
	// JSON, elsewhere.
	RowsNeeded int      `json:"rows_needed"`
	Avoid      []string `json:"do_not_use"`         // methods that raise the NLL
	AsGood     []string `json:"as_good"`            // those that do not differ significantly from the lowest that may be used, the simplest first
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
	ToClassifier   *Difference `json:"nll_to_classifier,omitempty"`
	ErrorsTo       *Difference `json:"errors_to_classifier,omitempty"`
	ToLowest       *Difference `json:"nll_to_lowest,omitempty"`
	ErrorsToLowest *Difference `json:"errors_to_lowest,omitempty"`
}

// MarshalJSON writes null for what was not tested.
func (v *Verdict) MarshalJSON() ([]byte, error) {
	type plain Verdict
	var needed *int
	if v.RowsNeeded > 0 {
		needed = &v.RowsNeeded
	}
	return json.Marshal(struct {
		Data       string   `json:"data,omitempty"`
		Rows       int      `json:"test_rows"`
		Say        Say      `json:"say"`
		Method     string   `json:"method"`
		Difference *float64 `json:"difference"`
		Low        *float64 `json:"low"`
		High       *float64 `json:"high"`
		P          *float64 `json:"p"`
		RowsNeeded *int     `json:"rows_needed"`
		*plain
	}{v.Data, v.Rows, v.Say, v.Method, known(v.Difference), known(v.Low), known(v.High), known(v.P), needed, (*plain)(v)})
}

// MarshalJSON writes the method without what is not known of it.
func (j *Judged) MarshalJSON() ([]byte, error) {
	type plain Judged
	return json.Marshal(struct {
		Name     string   `json:"method"`
		NLL      *float64 `json:"nll"`
		Accuracy *float64 `json:"accuracy,omitempty"`
		*plain
	}{Name: j.Name, NLL: known(j.NLL), Accuracy: known(j.Accuracy), plain: (*plain)(j)})
}

// known is x, nil for NaN.
func known(x float64) *float64 {
	if math.IsNaN(x) {
		return nil
	}
	return &x
}

// Classifier is the name of the method that leaves the classifier as it is.
const Classifier = "nc"

// Judge compares the candidates; classifier is the place of the classifier as it
// is, −1 if there is none, and rows is the number of rows that all were tested on. differences gives the differences of all
// candidates to one of them, in NLL or in the share of wrong rows; nil if they are not known. Without
// a candidate that has an NLL the verdict is nil.
//
// A method is to be used if it lowers the NLL by more than chance (Holm over all methods, 5 %) and by an amount that matters.
// Among those that do not differ significantly from the lowest it is the simplest; a method that costs accuracy is chosen only if
// there is no other. If no method qualifies, the classifier is left as it is if no interval leaves a gain that is worth
// more rows, or if every method that leaves as much tends to harm.
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
	nan := math.NaN()
	v := &Verdict{Rows: rows, Method: Classifier, Difference: nan, Low: nan, High: nan, P: nan, Avoid: []string{}, AsGood: []string{}, Why: []string{}}
	v.Methods = slices.DeleteFunc(slices.Clone(judged), func(j *Judged) bool { return math.IsNaN(j.NLL) })
	slices.SortStableFunc(v.Methods, func(a, b *Judged) int { return cmp.Compare(a.NLL, b.NLL) })
	// alike are the methods whose NLL differs from that of one by no more than chance, the simplest first.
	alike := func(one *Judged) (same []*Judged, err error) {
		to, err := differences(metrics.NLL, slices.Index(judged, one))
		for i, d := range to {
			if d != nil && !d.told() && judged[i] != one {
				same = append(same, judged[i])
			}
		}
		slices.SortStableFunc(same, func(a, b *Judged) int { return cmp.Compare(a.Effort, b.Effort) })
		return same, err
	}
	if classifier < 0 || math.IsNaN(candidates[classifier].NLL) {
		same, err := alike(judged[lowest])
		v.withoutClassifier(same)
		return v, err
	}
	return v, v.decide(judged[classifier], alike)
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
		{metrics.NLL, lowest, func(j *Judged) **Difference { return &j.ToLowest }},
		{metrics.Accuracy, lowest, func(j *Judged) **Difference { return &j.ErrorsToLowest }},
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

// withoutClassifier is the verdict where nobody knows what calibration gains. The methods are as good as the lowest.
func (v *Verdict) withoutClassifier(same []*Judged) {
	first := v.Methods[0]
	v.Say, v.Method, v.AsGood = CannotTell, first.Name, names(same)
	v.Sentence = "Cannot tell yet. The classifier as it is (nc) was not compared, so what calibration gains is not known; compare nc too."
	v.because("%s has the lowest NLL, %s.%s", first.Title, nats(first.NLL), asGood(same))
}

// because adds a line to why.
func (v *Verdict) because(format string, args ...any) {
	v.Why = append(v.Why, fmt.Sprintf(format, args...))
}

// decide chooses what to say beside the classifier.
func (v *Verdict) decide(nc *Judged, alike func(*Judged) ([]*Judged, error)) error {
	var better, slight, open, harmful, worse, scarce []*Judged
	for _, j := range v.Methods {
		d := j.ToClassifier
		switch {
		case j == nc || d == nil:
		case j.few(nc).Few():
			scarce = append(scarce, j)
		case d.told() && d.Value < 0 && j.matters(nc):
			better = append(better, j)
		case d.told() && d.Value < 0:
			slight = append(slight, j)
		case d.told() && j.matters(nc) && j.Unasked:
			harmful = append(harmful, j)
		case d.told() && j.matters(nc):
			worse = append(worse, j)
		default:
			open = append(open, j)
		}
	}
	v.Avoid = names(worse)
	same, err := alike(v.Methods[0])
	if err != nil {
		return err
	}
	v.AsGood = names(same)
	asked := func(j *Judged) bool { return !j.Unasked }
	switch {
	case better != nil:
		err = v.use(nc, better, alike)
	case worse != nil && !slices.ContainsFunc(slices.Concat(slight, open), asked):
		v.Say = DoNotUse
		v.of(worse[0])
		v.Sentence = doNotUse(worse)
		if v.Methods[0] == nc {
			v.because("Keep the classifier as it is: it has the lowest NLL, %s.", nats(nc.NLL))
		}
		for _, j := range slices.Concat(slight, open) {
			v.because("%s %s.", upper(j.Title), j.ToClassifier.tells(1))
		}
	case scarce != nil && !slices.ContainsFunc(slices.Concat(slight, open), asked):
		v.tooFew(nc, scarce[0])
	case v.cannotTell(nc, open):
	case slight != nil:
		v.Say = Leave
		v.of(slight[0])
		v.Method = nc.Name
		v.Sentence = fmt.Sprintf("Leave it as it is. %s %s, too small to matter.", upper(slight[0].Title), slight[0].ToClassifier.moves())
	default:
		v.leave(nc, append(open, harmful...))
	}
	if v.Say != DoNotUse && worse != nil {
		v.Why = append(v.Why[:min(len(v.Why), mostWhy-1)], doNotUse(worse))
	}
	return err
}

// few is whether the test rows have too few events to tell the method from the classifier.
func (j *Judged) few(nc *Judged) metrics.Scarce {
	if j.Events == nil || nc.Events == nil {
		return metrics.Scarce{Most: math.Inf(1)}
	}
	return metrics.Few(j.Events, nc.Events, floats.Sum(nc.Events.Of)*j.ToClassifier.Value)
}

// matters reports whether the method's difference is more than a small share of the classifier's NLL, or of the NLL of one class against
// the rest, which by the same bound as that of the NLL ([metrics.Ties.Compare]) is more than chance.
func (j *Judged) matters(nc *Judged) bool {
	if math.Abs(j.ToClassifier.Value) > tooSmall*nc.NLL {
		return true
	}
	if j.Events == nil || nc.Events == nil {
		return false
	}
	rows, classes := floats.Sum(nc.Events.Of), float64(len(nc.Events.Of))
	for c, loss := range nc.Events.Loss {
		d := j.Events.Loss[c] - loss
		if d*j.ToClassifier.Value > 0 && math.Abs(d) > tooSmall*loss && math.Exp(-rows*math.Abs(d)) < .05/classes {
			return true
		}
	}
	return false
}

// tooFew says that too few events occur among the test rows, or are expected there, for a method to be told from the classifier.
func (v *Verdict) tooFew(nc, hope *Judged) {
	v.Say = CannotTell
	v.of(hope)
	few, what := hope.few(nc), "whose top class is wrong"
	if few.Class >= 0 {
		what = fmt.Sprintf("of class %d", few.Class)
	}
	would := fmt.Sprintf("rows with at least %d of them would do", metrics.FewestEvents)
	if few.Most > 0 {
		v.RowsNeeded = twoDigits(float64(v.Rows) * metrics.FewestEvents / few.Most)
		would = fmt.Sprintf("about %s rows would do", thousands(v.RowsNeeded))
	}
	v.Sentence = fmt.Sprintf("Cannot tell yet. Rows %s: %s of %s, and at most %s expected; %s.",
		what, count(few.Seen), thousands(v.Rows), count(few.Expected), would)
	so := ""
	if !hope.ToClassifier.none() {
		so = ", no more than can be chance with so few"
	}
	v.because("%s %s%s.", upper(hope.Title), hope.ToClassifier.moves(), so)
}

// count is a number of rows, whole or of two digits.
func count(x float64) string {
	if x == math.Trunc(x) && x < 1e6 {
		return thousands(int(x))
	}
	return fmt.Sprintf("%.2g", x)
}

// of gives the verdict the method and its difference to the classifier.
func (v *Verdict) of(j *Judged) {
	d := j.ToClassifier
	v.Method, v.Difference, v.Low, v.High, v.P = j.Name, d.Value, d.Low, d.High, d.P
}

// use says which of the better methods to use.
func (v *Verdict) use(nc *Judged, better []*Judged, alike func(*Judged) ([]*Judged, error)) error {
	costs := func(j *Judged) bool { return j.ErrorsTo.told() && j.ErrorsTo.Value > 0 }
	free := slices.DeleteFunc(slices.Clone(better), costs)
	if len(free) == 0 {
		free = better
	}
	first := free[0]
	same, err := alike(first)
	if err != nil {
		return err
	}
	same = slices.DeleteFunc(same, func(j *Judged) bool { return j == nc || costs(j) && !costs(first) })
	use := first
	for _, j := range same {
		if slices.Contains(free, j) && j.Effort < use.Effort {
			use = j
		}
	}
	v.Say, v.AsGood = Use, names(same)
	v.of(use)
	v.Sentence = fmt.Sprintf("Use %s. It %s.", use.Title, use.ToClassifier.moves())
	line := fmt.Sprintf("NLL %s", arrow(nc.NLL, use.NLL))
	if from, to := nc.Calibration, use.Calibration; from != nil && to != nil && !math.IsNaN(from.ECE-to.ECE) {
		line += "; ECE " + arrow(from.ECE, to.ECE)
		if !math.IsNaN(to.Floor) {
			line += fmt.Sprintf(" (%s if calibrated)", nats(to.Floor))
		}
	}
	if d := use.ErrorsTo; d.told() {
		line += fmt.Sprintf("; accuracy %s %s (%s)", map[bool]string{true: "falls", false: "rises"}[d.Value > 0], arrow(nc.Accuracy, use.Accuracy), pEquals(d.P))
	}
	v.because("%s.", line)
	if nc.Where != "" {
		v.because("%s", nc.Where)
	}
	switch lowest := v.Methods[0]; {
	case use != first:
		v.because("%s has a lower NLL, %s, but by no more than chance, and it is less simple.", upper(first.Title), nats(first.NLL))
	case lowest != first && costs(lowest):
		v.because("%s has a lower NLL still, %s, and costs accuracy: %s (%s).", upper(lowest.Title), nats(lowest.NLL), arrow(nc.Accuracy, lowest.Accuracy), pEquals(lowest.ErrorsTo.P))
	case lowest != first:
		v.because("%s has the lowest NLL, %s, but may not help: it %s.", upper(lowest.Title), nats(lowest.NLL), lowest.ToClassifier.tells(v.tests()))
	case len(same) > 0:
		v.because("%s", strings.TrimSpace(asGood(same)))
	}
	if use.Cost != "" {
		v.because("%s", use.Cost)
	}
	if len(v.Why) > mostWhy {
		v.Why = append(v.Why[:mostWhy-1], strings.Join(v.Why[mostWhy-1:], " "))
	}
	return nil
}

// cannotTell says, where it is so, that one of the methods may gain what is worth more rows: its interval holds as much, and it does not
// lean to harm by a standard error.
func (v *Verdict) cannotTell(nc *Judged, open []*Judged) bool {
	worth := worthShare * nc.NLL
	at := slices.IndexFunc(open, func(j *Judged) bool {
		return j.ToClassifier.most() > worth && j.ToClassifier.Value < j.ToClassifier.half()/2
	})
	if at < 0 {
		return false
	}
	hope, tests := open[at], v.tests()
	d := hope.ToClassifier
	v.Say = CannotTell
	v.of(hope)
	would := "more rows alone would not do, as it differs from seed to seed; add seeds"
	if v.RowsNeeded = rowsFor(v.Rows, d, max(-d.Value, worth), tests); v.RowsNeeded > 0 {
		would = fmt.Sprintf("about %s rows would do", thousands(v.RowsNeeded))
	}
	rows := "test rows"
	if hope.Unasked { // a correction, for which all rows are
		rows = "rows"
	}
	v.Sentence = fmt.Sprintf("Cannot tell yet. With %s %s a difference below %s cannot be seen; %s.", thousands(v.Rows), rows, nats(max(d.half(), math.Abs(d.Value))), would)
	v.because("%s %s.", upper(hope.Title), d.tells(tests))
	return true
}

// tests are how many methods were compared with the classifier.
func (v *Verdict) tests() (n int) {
	for _, j := range v.Methods {
		if j.ToClassifier != nil {
			n++
		}
	}
	return n
}

// tells is moves, with whether it is more than chance; it says that so many tests were made where the interval does not show it.
func (d *Difference) tells(tests int) string {
	switch {
	case d.told() || d.none():
		return d.moves()
	case tests > 1 && (d.Low > 0 || d.High < 0):
		return fmt.Sprintf("%s, no more than chance among the %d methods compared", d.moves(), tests)
	}
	return d.moves() + ", no more than chance"
}

// Tells says what a difference alone, of no others, does to the NLL, and whether that is more than chance.
func (d *Difference) Tells() string { return d.tells(1) }

// leave says that nothing is to be gained, by the methods that do not lower the NLL.
func (v *Verdict) leave(nc *Judged, rest []*Judged) {
	if rest == nil {
		v.Say = CannotTell
		v.Sentence = "Cannot tell yet. Nothing was compared with the classifier as it is (nc); name a method."
		return
	}
	most := 0.0
	for _, j := range rest {
		most = max(most, j.ToClassifier.most())
	}
	v.Say = Leave
	v.of(rest[0])
	v.Method = nc.Name
	v.Sentence = "Leave it as it is. Nothing that was tried lowers the NLL."
	if most >= nothing {
		v.Sentence = fmt.Sprintf("Leave it as it is. Nothing that was tried lowers the NLL by more than %s (95 %%).", nats(most))
	}
	v.because("%s comes nearest to a gain: it %s.", upper(rest[0].Title), rest[0].ToClassifier.tells(v.tests()))
}

// rowsFor is about how many rows show a gain, four times in five by the first of so many tests that Holm corrects at 5 %, of two
// significant digits; 0 where none do. Of the variance v of the difference for n rows more rows lessen what is not from seed to seed:
//
//	v_rows n/N + v_seeds = (gain / (z_{1−.025/tests} + z_.8))²
func rowsFor(n int, d *Difference, gain float64, tests int) int {
	z := func(p float64) float64 { return distuv.UnitNormal.Quantile(p) }
	v, enough := math.Pow(d.half()/z(.975), 2), math.Pow(gain/(z(1-.025/float64(tests))+z(.8)), 2)
	if v > 0 && d.seeds*v >= enough {
		return 0
	}
	rows := max(float64(n)*(1-d.seeds)*v/(enough-d.seeds*v), float64(n)+1) // a difference without an interval would need none
	return twoDigits(rows)
}

// twoDigits is the number of rows, rounded up to two significant digits.
func twoDigits(rows float64) int {
	unit := math.Pow(10, max(math.Floor(math.Log10(rows))-1, 0))
	return int(math.Ceil(rows/unit) * unit)
}

// doNotUse is the sentence on methods that raise the NLL, the least first.
func doNotUse(worse []*Judged) string {
	least := worse[0]
	if len(worse) == 1 {
		return fmt.Sprintf("Do not use %s. It %s.", least.Title, least.ToClassifier.moves())
	}
	return fmt.Sprintf("Do not use %s. Each raises the NLL, %s the least: by %v.", titles(worse), least.Title, least.ToClassifier)
}

// asGood says which methods differ from the lowest by no more than chance, "" where none does.
func asGood(same []*Judged) string {
	switch len(same) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf(" %s differs from it by no more than chance.", upper(same[0].Title))
	}
	return fmt.Sprintf(" %s differ from it by no more than chance.", upper(titles(same)))
}

// names are those of the methods.
func names(of []*Judged) []string {
	return append([]string{}, data.Each(of, func(j *Judged) string { return j.Name })...)
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

// upper is a title at the beginning of a sentence. Names of methods stay as they are: what begins with an article is none.
func upper(title string) string {
	if strings.HasPrefix(title, "a ") || strings.HasPrefix(title, "the ") {
		return strings.ToUpper(title[:1]) + title[1:]
	}
	return title
}

// Doubt lets a verdict recommend nothing where the rows seem to be others than they should be: by their classes, as other rows or as
// those of a training. why says so and how to mend it; without a sentence nothing changes.
func (v *Verdict) Doubt(why ...string) {
	why = slices.DeleteFunc(slices.Clone(why), func(text string) bool { return text == "" })
	if v == nil || len(why) == 0 {
		return
	}
	nan := math.NaN()
	v.Say, v.Method, v.Difference, v.Low, v.High, v.P, v.RowsNeeded = CheckRows, Classifier, nan, nan, nan, nan, 0
	v.Avoid, v.AsGood, v.Commands = []string{}, []string{}, nil
	v.Sentence = "Check the rows. Do not use what they show as it is."
	v.Why = data.Each(why[:min(len(why), mostWhy)], func(text string) string { return upperFirst(text) + "." })
}

// upperFirst is a text as a sentence begins.
func upperFirst(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:]
}

// ToUse is the method to use, the classifier as it is where none is.
func (v *Verdict) ToUse() string {
	if v.Say == Use {
		return v.Method
	}
	return Classifier
}

// Chooses reports whether the method is the one to go on with: never where the rows cannot tell.
func (v *Verdict) Chooses(name string) bool {
	return v.Say != CannotTell && v.Say != CheckRows && v.ToUse() == name
}

// Text is the verdict in sentences.
func (v *Verdict) Text() []string { return append([]string{v.Sentence}, v.Why...) }

// Brief is the verdict in a few words: "use mixture: NLL .1563 instead of .2248".
func (v *Verdict) Brief() string {
	switch v.Say {
	case Leave, CannotTell, CheckRows:
		return string(v.Say)
	}
	said := string(v.Say) + " " + v.Method
	nll := map[string]float64{}
	for _, m := range v.Methods {
		nll[m.Name] = m.NLL
	}
	if before, known := nll[Classifier]; known {
		said += fmt.Sprintf(": NLL %s instead of %s", nats(nll[v.Method]), nats(before))
	}
	return said
}

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

// nats is a number of four decimals, or of two digits where it is below .001, without its leading 0.
func nats(x float64) string { return fixed(x, decimals(x)) }

// arrow is how a number changes, ".3000 → .2050", with the decimals that show it, or "stays .3000" where four do not and it is by less than
// a thousandth.
func arrow(from, to float64) string {
	const fourDecimals = 5e-5
	if math.Abs(from-to) < fourDecimals && math.Abs(from-to) < tooSmall*math.Abs(from) {
		return "stays " + nats(to)
	}
	digits := decimals(from - to)
	return fixed(from, digits) + " → " + fixed(to, digits)
}

// nothing is what rounds to 0 in nine decimals.
const nothing = 5e-10

// decimals are four, or as many as show two digits of the largest of some numbers.
func decimals(x ...float64) int {
	const four, most = 4, 9
	largest := 0.0
	for _, v := range x {
		largest = max(largest, math.Abs(v))
	}
	if !(largest >= nothing && largest < 1) {
		return four
	}
	return min(max(four, 1-int(math.Floor(math.Log10(largest)))), most)
}

// fixed is a number of so many decimals without its leading 0, with a minus sign of its own.
func fixed(x float64, digits int) string {
	text := strings.TrimPrefix(strconv.FormatFloat(math.Abs(x), 'f', digits, 64), "0")
	if x < 0 && strings.Trim(text, ".0") != "" {
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

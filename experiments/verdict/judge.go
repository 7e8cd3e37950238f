package verdict

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"calibra/data"
	"calibra/experiments/metrics"

	"gonum.org/v1/gonum/floats"
)

const (
	// tooSmall is the share of the NLL, and of the NLL of each class against the rest, below which a difference does
	// not matter, however sure it is.
	tooSmall = 1e-3
	// worthShare is the share of the NLL that may be left to gain where the classifier is left as it is.
	worthShare = .02
)

// Differences are those of all candidates to one of them, in NLL, in the share of wrong rows (Accuracy) or in the
// squared calibration error of the top class (TopECE); nil if they are not known.
type Differences func(m metrics.Metric, reference int) []*Difference

// Judge compares the candidates; classifier is the place of the classifier as it
// is, −1 if there is none, and rows is the number of rows that all were tested on. Without a candidate that has an NLL
// the verdict is nil.
//
// A method is to be used if it lowers the NLL by more than chance (Holm over all methods, 5 %) and by an amount that
// matters. Among those that do not differ significantly from the lowest it is the simplest; a method that costs
// accuracy or calibration is chosen only if there is no other. If no method qualifies, the classifier is left as it is
// if no interval leaves a gain that is worth more rows, or if every method that leaves as much tends to harm.
func Judge(rows int, candidates []Candidate, classifier int, differences Differences) *Verdict {
	judged := data.Each(candidates, func(c Candidate) *Judged { return &Judged{Candidate: c} })
	nan := math.NaN()
	v := &Verdict{Rows: rows, Method: Classifier, Difference: nan, Low: nan, High: nan, P: nan, Avoid: []string{}, AsGood: []string{}, Why: []string{}}
	v.Methods = slices.DeleteFunc(slices.Clone(judged), func(j *Judged) bool { return math.IsNaN(j.NLL) })
	if len(v.Methods) == 0 {
		return nil
	}
	slices.SortStableFunc(v.Methods, func(a, b *Judged) int { return cmp.Compare(a.NLL, b.NLL) })
	lowest := v.Methods[0]
	setDifferences(judged, slices.Index(judged, lowest), classifier, differences)
	// alike are the methods whose NLL differs from that of one by no more than chance, the simplest first.
	alike := func(one *Judged) (same []*Judged) {
		for i, d := range differences(metrics.NLL, slices.Index(judged, one)) {
			if d != nil && !d.Told() && judged[i] != one {
				same = append(same, judged[i])
			}
		}
		slices.SortStableFunc(same, func(a, b *Judged) int { return cmp.Compare(a.Effort, b.Effort) })
		return same
	}
	if classifier < 0 || math.IsNaN(candidates[classifier].NLL) {
		v.withoutClassifier(alike(lowest))
		return v
	}
	v.decide(judged[classifier], alike)
	v.Cause = map[Say]Cause{Use: Overall, Leave: NoCause, DoNotUse: TheMethod, CannotTell: FewRows}[v.Say]
	return v
}

// setDifferences sets the differences to the lowest and to the classifier.
func setDifferences(judged []*Judged, lowest, classifier int, differences Differences) {
	for _, to := range []struct {
		metric    metrics.Metric
		reference int
		field     func(*Judged) **Difference
	}{
		{metrics.NLL, lowest, func(j *Judged) **Difference { return &j.ToLowest }},
		{metrics.Accuracy, lowest, func(j *Judged) **Difference { return &j.ErrorsToLowest }},
		{metrics.NLL, classifier, func(j *Judged) **Difference { return &j.ToClassifier }},
		{metrics.Accuracy, classifier, func(j *Judged) **Difference { return &j.ErrorsTo }},
		{metrics.TopECE, classifier, func(j *Judged) **Difference { return &j.CalibrationTo }},
	} {
		if to.reference < 0 {
			continue
		}
		for i, d := range differences(to.metric, to.reference) {
			*to.field(judged[i]) = d
		}
	}
}

// withoutClassifier is the verdict where nobody knows what calibration gains. The methods are as good as the lowest.
func (v *Verdict) withoutClassifier(same []*Judged) {
	first := v.Methods[0]
	v.Say, v.Cause, v.Method, v.AsGood = CannotTell, FewRows, first.Name, names(same)
	v.Sentence = "Cannot tell yet. The classifier as it is (nc) was not compared, so what calibration gains is not known; compare nc too."
	v.because("%s has the lowest NLL, %s.%s", first.Title, nats(first.NLL), asGood(same))
}

// because adds a line to why.
func (v *Verdict) because(format string, args ...any) {
	v.Why = append(v.Why, fmt.Sprintf(format, args...))
}

// decide chooses what to say beside the classifier.
func (v *Verdict) decide(nc *Judged, alike func(*Judged) []*Judged) {
	var better, slight, open, harmful, worse, scarce []*Judged
	for _, j := range v.Methods {
		d := j.ToClassifier
		switch {
		case j == nc || d == nil:
		case j.few(nc).Few():
			scarce = append(scarce, j)
		case d.Told() && d.Value < 0 && j.matters(nc):
			better = append(better, j)
		case d.Told() && d.Value < 0:
			slight = append(slight, j)
		case d.Told() && j.matters(nc) && j.Unasked:
			harmful = append(harmful, j)
		case d.Told() && j.matters(nc):
			worse = append(worse, j)
		default:
			open = append(open, j)
		}
	}
	v.Avoid = names(worse)
	v.AsGood = names(alike(v.Methods[0]))
	asked := func(j *Judged) bool { return !j.Unasked }
	switch {
	case better != nil:
		v.use(nc, better, alike)
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
}

// few is whether the test rows have too few events to tell the method from the classifier.
func (j *Judged) few(nc *Judged) metrics.Scarce {
	if j.Events == nil || nc.Events == nil {
		return metrics.Scarce{Most: math.Inf(1)}
	}
	return metrics.Few(j.Events, nc.Events, floats.Sum(nc.Events.Of)*j.ToClassifier.Value)
}

// matters reports whether the method's difference is more than a small share of the classifier's NLL, or of the NLL of
// one class against the rest, which by the same bound as that of the NLL ([metrics.Ties.Compare]) is more than chance.
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

// tooFew says that too few events occur among the test rows, or are expected there, for a method to be told from the
// classifier.
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
		would = fmt.Sprintf("about %s rows would do", metrics.Thousands(v.RowsNeeded))
	}
	v.Sentence = fmt.Sprintf("Cannot tell yet. Rows %s: %s of %s, and at most %s expected; %s.",
		what, count(few.Seen), metrics.Thousands(v.Rows), count(few.Expected), would)
	so := ""
	if !hope.ToClassifier.none() {
		so = ", no more than can be chance with so few"
	}
	v.because("%s %s%s.", upper(hope.Title), hope.ToClassifier.moves(), so)
}

// of gives the verdict the method and its difference to the classifier.
func (v *Verdict) of(j *Judged) {
	d := j.ToClassifier
	v.Method, v.Difference, v.Low, v.High, v.P = j.Name, d.Value, d.Low, d.High, d.P
}

// use says which of the better methods to use.
func (v *Verdict) use(nc *Judged, better []*Judged, alike func(*Judged) []*Judged) {
	costs := func(j *Judged) bool { return j.price(nc) != "" }
	free := slices.DeleteFunc(slices.Clone(better), costs)
	if len(free) == 0 {
		free = better
	}
	first := free[0]
	same := slices.DeleteFunc(alike(first), func(j *Judged) bool { return j == nc || costs(j) && !costs(first) })
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
	switch {
	case costs(use): // the price of all that gain
		v.Sentence = fmt.Sprintf("Use %s at a price: %s. It %s.", use.Title, use.price(nc), use.ToClassifier.moves())
	case use.ErrorsTo.Told():
		line += fmt.Sprintf("; accuracy rises %s (%s)", arrow(nc.Accuracy, use.Accuracy), pEquals(use.ErrorsTo.P))
	}
	v.because("%s.", line)
	switch lowest := v.Methods[0]; {
	case use != first:
		v.because("%s has a lower NLL, %s, but by no more than chance, and it is less simple.", upper(first.Title), nats(first.NLL))
	case lowest != first && costs(lowest):
		v.because("%s has a lower NLL still, %s, at a price: %s.", upper(lowest.Title), nats(lowest.NLL), lowest.price(nc))
	case lowest != first:
		v.because("%s has the lowest NLL, %s, but may not help: it %s.", upper(lowest.Title), nats(lowest.NLL), lowest.ToClassifier.tells(v.tests()))
	case len(same) > 0:
		v.because("%s", strings.TrimSpace(asGood(same)))
	}
	if use.Cost != "" {
		v.because("%s", use.Cost)
	}
	v.fold()
}

// price says what using the method costs in accuracy and calibration, by more than chance; "" where nothing.
func (j *Judged) price(nc *Judged) string {
	var lost []string
	if d := j.ErrorsTo; d.Told() && d.Value > 0 {
		lost = append(lost, fmt.Sprintf("accuracy falls %s (%s)", arrow(nc.Accuracy, j.Accuracy), pEquals(d.P)))
	}
	if d := j.CalibrationTo; d.Told() && d.Value > 0 {
		lost = append(lost, fmt.Sprintf("the calibration error rises, ECE %s (%s)", arrow(nc.Calibration.ECE, j.Calibration.ECE), pEquals(d.P)))
	}
	return listed(lost)
}

// fold makes the last lines one where they are too many.
func (v *Verdict) fold() {
	if len(v.Why) > mostWhy {
		v.Why = append(v.Why[:mostWhy-1], strings.Join(v.Why[mostWhy-1:], " "))
	}
}

// cannotTell says, where it is so, that one of the methods may gain what is worth more rows: its interval holds as
// much, and it does not lean to harm by a standard error.
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
		would = fmt.Sprintf("about %s rows would do", metrics.Thousands(v.RowsNeeded))
	}
	rows := "test rows"
	if hope.Unasked { // a correction, for which all rows are
		rows = "rows"
	}
	v.Sentence = fmt.Sprintf("Cannot tell yet. With %s %s a difference below %s cannot be seen; %s.", metrics.Thousands(v.Rows), rows, nats(max(d.half(), math.Abs(d.Value))), would)
	v.because("%s %s.", upper(hope.Title), d.tells(tests))
	return true
}

// manyMore is how many times the test rows are worth folds where nobody knows how many rows it takes.
const manyMore = 10

// Share tells of a verdict that cannot tell by its test rows that so many rows, all that are labelled, can be shared
// among fits and their judging. It reports whether these are enough, or many more.
func (v *Verdict) Share(rows int) bool {
	half := (v.High - v.Low) / 2
	enough := v.RowsNeeded > 0 && v.RowsNeeded <= rows
	if v.Say != CannotTell || !enough && !(rows >= manyMore*v.Rows && half > 0) {
		return false
	}
	v.because("All %s labelled rows can be judged in folds, each by fits that did not see it; a difference of about %s is then seen.",
		metrics.Thousands(rows), nats(half*math.Sqrt(float64(v.Rows)/float64(rows))))
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

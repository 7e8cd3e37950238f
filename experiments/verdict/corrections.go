package verdict

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"calibra/data"
	"calibra/experiments/diagnosis"
	"calibra/experiments/metrics"

	"gonum.org/v1/gonum/floats"
)

// Corrections are the names that the verdict on an evaluation gives the predictions as they are, a correction of them
// alone, and one by the latent space besides.
var Corrections = [3]string{Classifier, "global", "local"}

// judgedMetrics are those whose noise floors decide whether predictions are calibrated.
var judgedMetrics = []metrics.Metric{metrics.TopECE, metrics.LCE}

// JudgeCorrections weighs predictions as they are, of an NLL and an accuracy on so many rows, against corrections of
// them, by the losses of the rows that no correction was fitted to; g is nil where these were not measured.
func JudgeCorrections(rows int, nll, accuracy float64, g *metrics.Recovered) *Verdict {
	candidates := []Candidate{{Name: Corrections[0], Title: "the predictions as they are", NLL: nll, Accuracy: accuracy}}
	losses, ties := [][]float64{nil}, metrics.Ties{}
	if g != nil {
		candidates[0].Events = g.Events[0]
		asItIs := make([]float64, len(g.GlobalNLL))
		losses, ties = [][]float64{asItIs, floats.ScaleTo(make([]float64, len(asItIs)), -1, g.GlobalNLL)}, g.Ties // of each row, beyond what it is
		candidates = append(candidates, Candidate{Name: Corrections[1], Title: "a correction of the predictions alone", NLL: nll - g.NLL.Global.Value, Accuracy: math.NaN(), Effort: 1, Unasked: true, Events: g.Events[1]})
		if g.LocalNLL != nil {
			losses = append(losses, floats.SubTo(make([]float64, len(asItIs)), losses[1], g.LocalNLL))
			candidates = append(candidates, Candidate{Name: Corrections[2], Title: "a correction by the predictions and the latent space", NLL: nll - g.NLL.Total.Value, Accuracy: math.NaN(), Effort: 2, Unasked: true, Events: g.Events[2]})
		}
	}
	v := Judge(rows, candidates, 0, func(m metrics.Metric, reference int) []*Difference {
		if m != metrics.NLL {
			return make([]*Difference, len(candidates))
		}
		return InPairs(m, losses, ties, g.Law, reference)
	})
	if v != nil && v.Say == Use && v.Method == Corrections[2] {
		v.Cause = Region
	}
	return v
}

// JudgeDiagnosis compares the predictions of a diagnosis with corrections of them, and says what is wrong. It makes
// d.Found agree: d.Found says so if a correction helps and no region is wrong by itself, and never says "alike" if a
// correction by the latent space helps. fitted is the verdict on methods fitted to calibration rows, nil without.
func JudgeDiagnosis(d *diagnosis.Diagnosis, fitted *Verdict) *Verdict {
	v := JudgeCorrections(d.Rows, d.NLL, d.Accuracy, d.Recoverable)
	if v == nil {
		return nil
	}
	switch {
	case v.Say == Use && d.Kind == diagnosis.NoError && len(d.Wrong()) == 0:
		d.Found = "wrong by little in many places: no region, class, confidence or group is wrong by more than chance by itself"
	case v.Say == Use && v.Method == Corrections[2]:
		d.Found = strings.Replace(d.Found, "wrong everywhere alike:", "wrong everywhere, in some places more than in others:", 1)
	}
	if v = cmp.Or(fitted, v); v != fitted && d.Recoverable == nil { // a command can fit again what was fitted
		v.unmeasured(diagnosis.TooFew(d.Rows))
	}
	v.place(d)
	found := data.Each(strings.Split(d.Found, "\n"), func(line string) string { return strings.ToUpper(line[:1]) + line[1:] + "." })
	v.Why = append(found, v.Why[:min(len(v.Why), max(1, mostWhy-len(found)))]...)
	return v
}

// place takes the cause of what is wrong, and where it is, from a diagnosis.
func (v *Verdict) place(d *diagnosis.Diagnosis) {
	if v.Cause == Overall || v.Cause == Region {
		v.Cause = causeOf(d)
	}
	if d.Kind != diagnosis.NoError && v.Cause != Shifted { // which is no fault of a place
		v.Where = strings.ReplaceAll(d.Found, "\n", "; ")
	}
}

// Locate gives a verdict the cause and the place of what is wrong, as a diagnosis of the same rows that was judged
// before ([JudgeDiagnosis]) has them; of nil nothing is known.
func (v *Verdict) Locate(d *diagnosis.Diagnosis) {
	if d == nil {
		return
	}
	v.place(d)
	if v.Say == Use && v.Cause != Shifted && len(d.Wrong()) > 0 {
		v.Why = slices.Insert(v.Why, min(1, len(v.Why)), "The classifier is "+strings.ReplaceAll(d.Found, "\n", "; ")+".")
		v.fold()
	}
}

// JudgeEvaluation weighs predictions against corrections of them, which were not measured for a reason, "" where they
// were, and says whether they are calibrated: by the noise floors of ECE and LCE, as far as those were measured. fitted
// is the verdict on methods fitted to calibration rows, nil without.
func JudgeEvaluation(r *metrics.Report, reason string, fitted *Verdict) *Verdict {
	v := JudgeCorrections(r.Rows, r.Values[metrics.NLL], r.Values[metrics.Accuracy], r.Recovered)
	if v == nil {
		return nil
	}
	if v = cmp.Or(fitted, v); v != fitted && r.Recovered == nil {
		v.unmeasured(reason)
	}
	if floors := v.calibrated(r); floors != "" {
		v.first(floors)
	}
	return v
}

// unmeasured says that no correction was measured, and why.
func (v *Verdict) unmeasured(reason string) {
	v.Say, v.Cause = CannotTell, FewRows
	v.Sentence = fmt.Sprintf("Cannot tell yet. What a correction would gain was not measured: %s.", reason)
}

// causeOf is what a diagnosis names first.
func causeOf(d *diagnosis.Diagnosis) Cause {
	if d.Kind != diagnosis.LocalError || len(d.Named) == 0 {
		return Overall
	}
	first := d.Named[0]
	in := func(all []diagnosis.Region) bool {
		return slices.ContainsFunc(all, func(r diagnosis.Region) bool { return r.Describe == first.Describe })
	}
	switch {
	case in(d.Groups):
		return Group
	case in(d.Regions):
		return Region
	}
	return Class
}

// calibrated says whether the predictions are, as far as noise floors tell; "" where none was measured.
func (v *Verdict) calibrated(r *metrics.Report) string {
	var parts, wrong []string
	tested := slices.DeleteFunc(slices.Clone(judgedMetrics), func(m metrics.Metric) bool {
		return r.Noise[m] == nil || math.IsNaN(r.Noise[m].PValue)
	})
	for _, m := range tested {
		n := r.Noise[m]
		p := equals(PAmong(n.PValue, r.Uncertainty.Redraws))
		part := fmt.Sprintf("%s %s (%s if calibrated, %s)", m.Title(), nats(r.Values[m]), nats(n.Mean), p)
		parts = append(parts, part)
		if n.Exceeded(0.05, len(tested)) {
			wrong = append(wrong, part)
		}
	}
	says := fmt.Sprintf("Calibrated as far as %s rows can tell: ", metrics.Thousands(r.Rows))
	switch {
	case parts == nil:
		return ""
	case wrong != nil && v.Say == Leave:
		v.Cause = Overall
		says, parts = "Not calibrated, by more than chance, and no correction gains by it: ", wrong
	case wrong != nil:
		says, parts = "Not calibrated, by more than chance: ", wrong
	case v.Say == Use:
		says = "The NLL shows what these do not: "
	case r.LikelihoodRatio != nil && r.LikelihoodRatio.PValue < 0.05:
		says = fmt.Sprintf("The likelihood ratio test shows miscalibration (%s), but no correction gains by more than chance, and these metrics do not show it: ", pEquals(r.LikelihoodRatio.PValue))
	}
	return says + strings.Join(parts, "; ") + "."
}

package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"calibra/experiments/diagnosis"
	"calibra/experiments/metrics"
)

// Corrections are the names that the verdict on an evaluation gives the predictions as they are, a correction of them alone,
// and one by the latent space too.
var Corrections = [3]string{Classifier, "global", "local"}

// judgedMetrics are those whose noise floors decide whether predictions are calibrated.
var judgedMetrics = []metrics.Metric{metrics.ECE, metrics.LCE}

// JudgeCorrections weighs predictions as they are, of an NLL and an accuracy on so many rows, against corrections of them;
// g is nil where these were not measured.
func JudgeCorrections(rows int, nll, accuracy float64, g *metrics.Recovered) (*Verdict, error) {
	candidates := []Candidate{{Name: Corrections[0], Title: "leaving the predictions as they are", NLL: nll, Accuracy: accuracy}}
	saved := []metrics.Gain{{}}
	if g != nil {
		candidates = append(candidates,
			Candidate{Name: Corrections[1], Title: "a correction of the predictions alone", NLL: nll - g.NLL.Global.Value, Accuracy: math.NaN(), Effort: 1},
			Candidate{Name: Corrections[2], Title: "a correction by the latent space too", NLL: nll - g.NLL.Total.Value, Accuracy: math.NaN(), Effort: 2})
		saved = append(saved, g.NLL.Global, g.NLL.Total)
	}
	return Judge(rows, candidates, 0, func(m metrics.Metric, reference int) ([]*Difference, error) {
		out := make([]*Difference, len(candidates))
		for i := range candidates {
			if m != metrics.NLL || i == reference {
				continue
			}
			gain := saved[max(i, reference)] // to the predictions as they are
			if i+reference == 3 {            // of the corrections to each other
				gain = g.NLL.Local
			}
			if out[i] = lost(gain); i < reference {
				out[i].Value, out[i].Low, out[i].High = -out[i].Value, -out[i].High, -out[i].Low
			}
		}
		return out, nil
	})
}

// JudgeDiagnosis weighs the predictions of a diagnosis against corrections of them, and says what is wrong.
func JudgeDiagnosis(d *diagnosis.Diagnosis) (*Verdict, error) {
	v, err := JudgeCorrections(d.Rows, d.NLL, d.Accuracy, d.Recoverable)
	if v != nil {
		v.Why = append([]string{upper(d.Found) + "."}, v.Why[:min(len(v.Why), 2)]...)
	}
	return v, err
}

// JudgeEvaluation weighs predictions against corrections of them, and says whether they are
// calibrated: by the noise floors of ECE and LCE, as far as those were measured.
func JudgeEvaluation(r *metrics.Report) (*Verdict, error) {
	nll, accuracy := r.Values[metrics.NLL], r.Values[metrics.Accuracy]
	v, err := JudgeCorrections(r.Rows, nll, accuracy, r.Recovered)
	if v == nil || err != nil {
		return v, err
	}
	floors, wrong := calibrated(r)
	if r.Recovered == nil {
		v.Say, v.Sentence = Leave, fmt.Sprintf("Leave it as it is. NLL %s, accuracy %s; corrections were not measured.", nats(nll), share(accuracy))
		if wrong {
			v.Say = CannotTell
			v.Sentence = "Cannot tell yet. The predictions are not calibrated, and what a correction would save was not measured; hand over an embedding or --features, or compare methods."
		}
	}
	if floors != "" {
		v.Why = append([]string{floors}, v.Why[:min(len(v.Why), 2)]...)
	}
	return v, nil
}

// lost is a gain as the difference in NLL of the one that gains it, with the bounds and the p of the gain's own one-sided
// test at 95 %, by which a diagnosis advises too.
func lost(g metrics.Gain) *Difference {
	const half = 1.644854 // of a 90 % interval, in standard errors
	return &Difference{Value: -g.Value, Low: -g.Value - half*g.SE, High: -g.Value + half*g.SE, P: min(g.P, 1-g.P), Level: .9}
}

// calibrated says whether the predictions are, "" where no noise floor was measured.
func calibrated(r *metrics.Report) (text string, not bool) {
	var parts, wrong []string
	tested := slices.DeleteFunc(slices.Clone(judgedMetrics), func(m metrics.Metric) bool {
		return r.Noise[m] == nil || math.IsNaN(r.Noise[m].PValue)
	})
	for _, m := range tested {
		n := r.Noise[m]
		p := equals(PAmong(n.PValue, r.Uncertainty.Redraws))
		part := fmt.Sprintf("%s %.5f, of calibrated predictions %.5f (%s)", m.Title(), r.Values[m], n.Mean, p)
		parts = append(parts, part)
		if n.Exceeded(0.05, len(tested)) {
			wrong = append(wrong, part)
		}
	}
	switch {
	case parts == nil:
		return "", false
	case wrong != nil:
		return "Not calibrated, by more than chance: " + strings.Join(wrong, "; ") + ".", true
	}
	return fmt.Sprintf("Calibrated as far as %s rows can tell: %s.", thousands(r.Rows), strings.Join(parts, "; ")), false
}

// RecoverableTable is what corrections would save, on rows that they were not fitted to.
func RecoverableTable(g *metrics.Recovered) *Table {
	t := &Table{Caption: "What corrections would save, on rows that they were not fitted to", Labels: []string{"correction", "family"},
		Values: Heads("nats a row", "at least", "p")}
	for k, gain := range []metrics.Gain{g.NLL.Global, g.NLL.Local} {
		name := []string{"of the predictions alone", "by the latent space, beyond that"}[k]
		t.Add("", Row{Labels: []string{name, g.Families[k]}, Cells: Texts(fmt.Sprintf("%.5f", gain.Value), fmt.Sprintf("%.5f", gain.Low), P(gain.P))})
	}
	return t
}

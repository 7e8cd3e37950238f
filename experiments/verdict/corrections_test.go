package verdict

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"calibra/experiments/diagnosis"
	"calibra/experiments/metrics"
)

// rowsOf are 500 terms of a mean and a standard error, alternately above and below.
func rowsOf(mean, se float64) []float64 {
	x := make([]float64, 500)
	for i := range x {
		x[i] = mean + se*math.Sqrt(499)*float64(1-2*(i%2))
	}
	return x
}

func TestJudgeEvaluation(t *testing.T) {
	low, high := &metrics.Noise{Mean: .01, PValue: .4}, &metrics.Noise{Mean: .01, PValue: 1. / 51, Excess: .01}
	for _, test := range []struct {
		name           string
		ece            *metrics.Noise
		global, local  [2]float64 // mean and standard error of what each saves, the second beyond the first
		say            Say
		method         string
		says, saysElse string
	}{
		{"calibrated, few rows", low, [2]float64{-.001, .01}, [2]float64{-.001, 0}, CannotTell, "global",
			"Cannot tell yet. With 500 rows a difference below .0196 cannot be seen; about 4,800 rows would do.", "Calibrated as far as 500 rows can tell: ECE .0200 (.0100 if calibrated, p = .400)"},
		{"nothing to gain", low, [2]float64{-.001, .001}, [2]float64{-.001, 0}, Leave, "nc", "Leave it as it is. Nothing that was tried lowers the NLL by more than .0028 (95 %).", "Calibrated as far as 500"},
		{"wrong, and nothing to gain", high, [2]float64{-.001, .001}, [2]float64{-.001, 0}, Leave, "nc", "Leave it as it is.", "Not calibrated, by more than chance, and no correction gains by it: ECE"},
		{"corrections do harm, and nobody asked for them", low, [2]float64{-.1, .01}, [2]float64{-.1, .01}, Leave, "nc", "Leave it as it is. Nothing that was tried lowers the NLL.", "it raises the NLL by .1000 (95 % .0804 to .1196, p ≤ 1e-6)."},
		{"a global correction", high, [2]float64{.1, .01}, [2]float64{.001, .01}, Use, "global", "Use a correction of the predictions alone. It lowers the NLL by .1000 (95 % .0804 to .1196, p ≤ 1e-6).",
			"Not calibrated, by more than chance: ECE .0200 (.0100 if calibrated, p ≤ 1/51)"},
		{"a local one, which no floor shows", low, [2]float64{0, .001}, [2]float64{.2, .01}, Use, "local", "Use a correction by the predictions and the latent space. It lowers the NLL by .2000", "The NLL shows what these do not: ECE .0200 (.0100 if calibrated"},
		{"errors below the floor are no fault", &metrics.Noise{Mean: .03, PValue: 1. / 51, Excess: -.01}, [2]float64{0, .01}, [2]float64{0, 0}, CannotTell, "global", "Cannot tell yet.", "Calibrated as far as"},
	} {
		r := &metrics.Report{Recovered: &metrics.Recovered{Families: [2]string{"some", "others"}, GlobalNLL: rowsOf(test.global[0], test.global[1]), LocalNLL: rowsOf(test.local[0], test.local[1])}}
		r.Recovered.NLL.Global.Value, r.Recovered.NLL.Total.Value = test.global[0], test.global[0]+test.local[0]
		r.Rows, r.Uncertainty.Redraws = 500, 50 // whose predictions are not known: a difference of .001 has p ≥ exp(−.5)
		r.Values[metrics.NLL], r.Values[metrics.Accuracy], r.Values[metrics.TopECE] = .5, .8, .02
		r.Noise[metrics.TopECE] = test.ece
		v := JudgeEvaluation(r, "", nil)
		text := strings.Join(v.Text(), " ")
		if v.Say != test.say || v.Method != test.method || !strings.HasPrefix(text, test.says) || !strings.Contains(text, test.saysElse) || len(v.Why) > 3 {
			t.Errorf("%s: %s %s: %s", test.name, v.Say, v.Method, text)
		}
		if _, err := json.Marshal(v); err != nil { // accuracies of corrections are not known
			t.Error(err)
		}
	}
	alone := &metrics.Report{}
	alone.Values[metrics.NLL], alone.Values[metrics.Accuracy] = .5, .8
	if v := JudgeEvaluation(alone, "40 rows are too few", nil); v.Say != CannotTell || !strings.Contains(v.Sentence, "was not measured: 40 rows are too few.") {
		t.Errorf("without floors and corrections: %v", v)
	}
}

// TestWhere: where predictions are wrong is told of a fault of a place, not where the classes changed or the rows are
// others.
func TestWhere(t *testing.T) {
	d := &diagnosis.Diagnosis{Kind: diagnosis.LocalError, Found: "wrong in group 1"}
	for _, c := range []struct {
		v      *Verdict
		doubts string
		where  string
	}{
		{&Verdict{Say: Use, Cause: Overall}, "", "wrong in group 1"},
		{&Verdict{Say: Use, Cause: Shifted}, "", ""},
		{&Verdict{Say: Use, Cause: Overall}, "the labels are of other rows", ""},
	} {
		c.v.Locate(d)
		if c.v.Doubt(c.doubts); c.v.Where != c.where {
			t.Errorf("%s of %s, doubt %q: where is %q", c.v.Say, c.v.Cause, c.doubts, c.v.Where)
		}
	}
}

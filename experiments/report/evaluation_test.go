package report

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"calibra/experiments/metrics"
	"calibra/theory"
)

func TestJudgeEvaluation(t *testing.T) {
	gain := func(value, se, p float64) metrics.Gain { return metrics.Gain{Value: value, SE: se, P: p} }
	for _, test := range []struct {
		name                   string
		ece, lce               *metrics.Noise
		global, local, total   metrics.Gain
		say                    Say
		method, says, saysElse string
	}{
		{"calibrated, nothing to gain", &metrics.Noise{Mean: .01, PValue: .4}, &metrics.Noise{Mean: .001, PValue: .3},
			gain(-.001, .01, .54), gain(-.001, .01, .54), gain(-.002, .01, .58), CannotTell, "global", "Cannot tell yet. With 500 rows a difference below .0164 cannot be seen; about 4,000 rows would do.", "Calibrated as far as 500 rows can tell: ECE 0.02000, of calibrated predictions 0.01000 (p = 0.400)"},
		{"a global correction", &metrics.Noise{Mean: .01, PValue: 1. / 51, Excess: .01}, &metrics.Noise{Mean: .001, PValue: .3},
			gain(.1, .01, 1e-12), gain(.001, .01, .46), gain(.101, .01, 1e-12), Use, "global", "Use a correction of the predictions alone. It lowers the NLL by .1000 (90 % .0836 to .1164, p ≤ 1e-6).",
			"Not calibrated, by more than chance: ECE 0.02000, of calibrated predictions 0.01000 (p ≤ 1/51)"},
		{"a local one", &metrics.Noise{Mean: .01, PValue: .3}, &metrics.Noise{Mean: .001, PValue: 1. / 51, Excess: .01},
			gain(0, .01, .5), gain(.2, .01, 0), gain(.2, .01, 0), Use, "local", "Use a correction by the latent space too. It lowers the NLL by .2000", "Not calibrated"},
		{"errors below the floor are no fault", &metrics.Noise{Mean: .03, PValue: 1. / 51, Excess: -.01}, nil,
			gain(0, .01, .5), gain(0, .01, .5), gain(0, .01, .5), CannotTell, "global", "Cannot tell yet.", "Calibrated as far as"},
	} {
		r := &metrics.Report{Recovered: &metrics.Recovered{NLL: metrics.Gains{Global: test.global, Local: test.local, Total: test.total}}}
		r.Rows, r.Uncertainty.Redraws = 500, 50
		r.Values[metrics.NLL], r.Values[metrics.Accuracy], r.Values[metrics.ECE] = .5, .8, .02
		r.Noise[metrics.ECE], r.Noise[metrics.LCE] = test.ece, test.lce
		v, err := JudgeEvaluation(r)
		if err != nil {
			t.Fatal(err)
		}
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
	if v, err := JudgeEvaluation(alone); err != nil || strings.Join(v.Text(), "") != "Leave it as it is. NLL .5000, accuracy .8000; corrections were not measured." {
		t.Errorf("without floors and corrections: %v, %v", v, err)
	}
}

func TestHeld(t *testing.T) {
	row := func(value float64) theory.Row {
		return theory.Row{Study: "rate", Quantity: "slope", Estimate: theory.Estimate{Value: value}, Band: &theory.Band{Low: -1, High: 0}}
	}
	free := theory.Row{Quantity: "free", Estimate: theory.Estimate{Value: math.Pi}}
	for want, rows := range map[string][]theory.Row{
		"All 2 bands hold.":                            {row(-.5), row(-.2), free},
		"The one band holds.":                          {row(-.5)},
		"1 of 2 bands fail.|rate: slope is 2, outside": {row(-.5), row(2)},
		"No quantity has a band":                       {free},
		"7 of 7 bands fail.":                           {row(1), row(1), row(1), row(1), row(1), row(1), row(1)},
	} {
		lines := Held([]*theory.Report{{Study: "rate", Rows: rows}})
		if got := strings.Join(lines, "|"); !strings.HasPrefix(got, want) || len(lines) > 7 {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

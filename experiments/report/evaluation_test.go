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
		name                      string
		ece, lce                  *metrics.Noise
		global, local, total      metrics.Gain
		best, use, says, saysElse string
	}{
		{"calibrated, nothing to gain", &metrics.Noise{Mean: .01, PValue: .4}, &metrics.Noise{Mean: .001, PValue: .3},
			gain(-.001, .01, .54), gain(-.001, .01, .54), gain(-.002, .01, .58), "nc", "nc", "Calibrated as far as 500 rows can tell: ECE 0.02000, of calibrated predictions 0.01000 (p = 0.400)", "Nothing improves the predictions as they are: NLL .5000, accuracy .8000."},
		{"a global correction", &metrics.Noise{Mean: .01, PValue: 1. / 51, Excess: .01}, &metrics.Noise{Mean: .001, PValue: .3},
			gain(.1, .01, 1e-12), gain(.001, .01, .46), gain(.101, .01, 1e-12), "local", "global", "Not calibrated, by more than chance: ECE 0.02000, of calibrated predictions 0.01000 (p ≤ 1/51)",
			"NLL .5000 → .3990; difference to the predictions as they are: NLL −.1010 (90 % −.1174 to −.0846, p ≤ 1e-6)."},
		{"a local one", &metrics.Noise{Mean: .01, PValue: .3}, &metrics.Noise{Mean: .001, PValue: 1. / 51, Excess: .01},
			gain(0, .01, .5), gain(.2, .01, 0), gain(.2, .01, 0), "local", "local", "Not calibrated", "Every other method is significantly worse (5 %)."},
		{"errors below the floor are no fault", &metrics.Noise{Mean: .03, PValue: 1. / 51, Excess: -.01}, nil,
			gain(0, .01, .5), gain(0, .01, .5), gain(0, .01, .5), "nc", "nc", "Calibrated as far as", "Nothing improves"},
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
		if v.Best != test.best || v.Use != test.use || !strings.HasPrefix(text, test.says) || !strings.Contains(text, test.saysElse) {
			t.Errorf("%s: best %s, use %s: %s", test.name, v.Best, v.Use, text)
		}
		if _, err := json.Marshal(v); err != nil { // accuracies of corrections are not known
			t.Error(err)
		}
	}
	alone := &metrics.Report{}
	alone.Values[metrics.NLL], alone.Values[metrics.Accuracy] = .5, .8
	if v, err := JudgeEvaluation(alone); err != nil || strings.Join(v.Text(), "") != "NLL .5000, accuracy .8000." {
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

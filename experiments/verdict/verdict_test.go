package verdict

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"calibra/experiments/metrics"

	"gonum.org/v1/gonum/stat/distuv"
)

// judged weighs methods whose differences to the reference are their own less its, each known to
// ±.01, with p 1e-9 beyond that and 0.5 within.
func judged(t *testing.T, candidates ...Candidate) *Verdict {
	t.Helper()
	classifier := slices.IndexFunc(candidates, func(c Candidate) bool { return c.Name == Classifier })
	return Judge(1000, candidates, classifier, func(m metrics.Metric, reference int) []*Difference {
		out := make([]*Difference, len(candidates))
		for i, c := range candidates {
			d := c.NLL - candidates[reference].NLL
			switch to := candidates[reference]; {
			case m == metrics.Accuracy:
				d = to.Accuracy - c.Accuracy
			case m == metrics.TopECE && (c.Calibration == nil || to.Calibration == nil):
				continue
			case m == metrics.TopECE:
				d = c.Calibration.ECE - to.Calibration.ECE
			}
			if i != reference && !math.IsNaN(d) {
				out[i] = &Difference{Value: d, Low: d - .01, High: d + .01, P: .5}
				if math.Abs(d) > .01 {
					out[i].P = 1e-9
				}
			}
		}
		return out
	})
}

func TestJudge(t *testing.T) {
	nc := Candidate{Name: "nc", Title: "nc", NLL: .3, Accuracy: .9}
	ts := Candidate{Name: "ts", Title: "ts", NLL: .205, Accuracy: .9, Effort: 1}
	sm := Candidate{Name: "sm", Title: "sm", NLL: .2, Accuracy: .905, Effort: 9}
	vq := Candidate{Name: "vq", Title: "vq", NLL: .4, Accuracy: .8, Effort: 99}
	sly := Candidate{Name: "sly", Title: "sly", NLL: .199, Accuracy: .7, Effort: 2}
	flat := Candidate{Name: "flat", Title: "flat", NLL: .2995, Accuracy: .9, Effort: 3}
	middling := Candidate{Name: "middling", Title: "middling", NLL: .25, Accuracy: .9, Effort: 1}
	remedy := Candidate{Name: "remedy", Title: "remedy", NLL: .35, Accuracy: .9, Effort: 1, Unasked: true}
	unsure := Candidate{Name: "unsure", Title: "unsure", NLL: .2995, Accuracy: .9, Effort: 3, Unasked: true}
	measured := func(of Candidate, ece float64, cost string) Candidate {
		of.Calibration, of.Cost = &Calibration{ece, .02}, cost
		return of
	}
	small := func(nll float64, of Candidate) Candidate { of.NLL = nll; return of }
	for _, test := range []struct {
		name                     string
		candidates               []Candidate
		say                      Say
		method, avoid, as, lines string
	}{
		{"the simplest of those that are alike", []Candidate{nc, vq, sm, ts}, Use, "ts", "vq", "ts",
			"Use ts. It lowers the NLL by .0950 (95 % .0850 to .1050, p ≤ 1e-6).|NLL .3000 → .2050.|sm has a lower NLL, .2000, but by no more than chance, and it is less simple.|Do not use vq. It raises the NLL by .1000 (95 % .0900 to .1100, p ≤ 1e-6)."},
		{"the lowest alone", []Candidate{nc, sm}, Use, "sm", "", "", "Use sm. It lowers the NLL by .1000 (95 % .0900 to .1100, p ≤ 1e-6).|NLL .3000 → .2000."},
		{"what was asked for harms", []Candidate{vq, nc}, DoNotUse, "vq", "vq", "", "Do not use vq. It raises the NLL by .1000 (95 % .0900 to .1100, p ≤ 1e-6).|Keep the classifier as it is: it has the lowest NLL, .3000."},
		{"all harm", []Candidate{nc, vq, {Name: "dc", Title: "dc", NLL: .5, Accuracy: .8}}, DoNotUse, "vq", "vq dc", "", "Do not use vq and dc. Each raises the NLL, vq the least: by .1000 (95 % .0900 to .1100, p ≤ 1e-6).|Keep the classifier as it is: it has the lowest NLL, .3000."},
		{"an error beside its floor, and what it costs", []Candidate{measured(nc, .05, ""), measured(sm, .01, "It needs the features of each row.")}, Use, "sm", "", "",
			"Use sm. It lowers the NLL by .1000 (95 % .0900 to .1100, p ≤ 1e-6).|NLL .3000 → .2000; ECE .0500 → .0100 (.0200 if calibrated).|It needs the features of each row."},
		{"nothing can be gained", []Candidate{nc, {Name: "flat", Title: "flat", NLL: .3059, Accuracy: .9}}, Leave, "nc", "", "flat",
			"Leave it as it is. Nothing that was tried lowers the NLL by more than .0041 (95 %).|flat comes nearest to a gain: it raises the NLL by .0059 (95 % −.0041 to .0159, p = .5), no more than chance."},
		{"the rows are too few", []Candidate{nc, flat}, CannotTell, "flat", "", "nc",
			"Cannot tell yet. With 1,000 test rows a difference below .0100 cannot be seen; about 5,700 rows would do.|flat lowers the NLL by .0005 (95 % −.0095 to .0105, p = .5), no more than chance."},
		{"no classifier", []Candidate{ts, vq}, CannotTell, "ts", "", "", "Cannot tell yet. The classifier as it is (nc) was not compared, so what calibration gains is not known; compare nc too.|ts has the lowest NLL, .2050."},
		{"accuracy lost is no remedy", []Candidate{nc, sm, sly}, Use, "sm", "", "", "Use sm. It lowers the NLL by .1000 (95 % .0900 to .1100, p ≤ 1e-6).|NLL .3000 → .2000.|sly has a lower NLL still, .1990, at a price: accuracy falls .9000 → .7000 (p ≤ 1e-6)."},
		{"nor is a simpler one that is worse", []Candidate{nc, sm, sly, middling}, Use, "sm", "", "", "Use sm. It lowers the NLL by .1000 (95 % .0900 to .1100, p ≤ 1e-6).|NLL .3000 → .2000.|sly has a lower NLL still, .1990, at a price: accuracy falls .9000 → .7000 (p ≤ 1e-6)."},
		{"nothing else than accuracy lost", []Candidate{nc, sly}, Use, "sly", "", "", "Use sly at a price: accuracy falls .9000 → .7000 (p ≤ 1e-6). It lowers the NLL by .1010 (95 % .0910 to .1110, p ≤ 1e-6).|NLL .3000 → .1990."},
		{"calibration lost is no remedy", []Candidate{measured(nc, .01, ""), ts, measured(sm, .03, "")}, Use, "ts", "", "", "Use ts. It lowers the NLL by .0950 (95 % .0850 to .1050, p ≤ 1e-6).|NLL .3000 → .2050.|sm has a lower NLL still, .2000, at a price: the calibration error rises, ECE .0100 → .0300 (p ≤ 1e-6)."},
		{"nothing else than both lost", []Candidate{measured(nc, .01, ""), measured(sly, .03, "")}, Use, "sly", "", "",
			"Use sly at a price: accuracy falls .9000 → .7000 (p ≤ 1e-6) and the calibration error rises, ECE .0100 → .0300 (p ≤ 1e-6). It lowers the NLL by .1010 (95 % .0910 to .1110, p ≤ 1e-6).|NLL .3000 → .1990; ECE .0100 → .0300 (.0200 if calibrated)."},
		{"nobody asked for the one that harms", []Candidate{nc, remedy}, Leave, "nc", "", "", "Leave it as it is. Nothing that was tried lowers the NLL.|remedy comes nearest to a gain: it raises the NLL by .0500 (95 % .0400 to .0600, p ≤ 1e-6)."},
		{"what was asked for harms, and what nobody asked for may help", []Candidate{nc, vq, unsure}, DoNotUse, "vq", "vq", "nc",
			"Do not use vq. It raises the NLL by .1000 (95 % .0900 to .1100, p ≤ 1e-6).|unsure lowers the NLL by .0005 (95 % −.0095 to .0105, p = .5), no more than chance."},
		{"the classifier alone", []Candidate{nc}, CannotTell, "nc", "", "", "Cannot tell yet. Nothing was compared with the classifier as it is (nc); name a method."},
		{"one that was not measured", []Candidate{nc, ts, {Name: "ir", Title: "ir", NLL: math.NaN(), Accuracy: math.NaN()}}, Use, "ts", "", "", "Use ts. It lowers the NLL by .0950 (95 % .0850 to .1050, p ≤ 1e-6).|NLL .3000 → .2050."},
	} {
		v := judged(t, test.candidates...)
		text := strings.Join(v.Text(), "|")
		if v.Say != test.say || v.Method != test.method || strings.Join(v.Avoid, " ") != test.avoid || strings.Join(v.AsGood, " ") != test.as || text != test.lines {
			t.Errorf("%s: %s %s, avoid %v, as good %v: %s", test.name, v.Say, v.Method, v.Avoid, v.AsGood, text)
		}
		if !slices.IsSortedFunc(v.Methods, func(a, b *Judged) int {
			if a.NLL < b.NLL {
				return -1
			}
			return 1
		}) {
			t.Errorf("%s: the methods are not sorted", test.name)
		}
	}
	for want, v := range map[string]*Verdict{
		`"say":"use","method":"ts","difference":-0.09`:                                       judged(t, nc, ts),
		`"say":"leave it as it is","method":"nc","difference":0.0059`:                        judged(t, nc, small(.3059, flat)),
		`"method":"nc","difference":null,"low":null,"high":null,"p":null,"rows_needed":null`: judged(t, nc),
	} {
		if text, err := json.Marshal(v); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s, %v, want %s", text, err, want)
		}
	}
	if v := judged(t, Candidate{Name: "ir", NLL: math.NaN()}); v != nil {
		t.Errorf("nothing was measured, and the verdict is %+v", v)
	}
}

// TestNumbersOfASentence: a gain that is small beside others is told by digits that show it, and never as ".0000".
func TestNumbersOfASentence(t *testing.T) {
	for want, got := range map[string]string{
		"lowers the NLL by .00020 (95 % .00010 to .00030, p = .01)": (&Difference{Value: -2e-4, Low: -3e-4, High: -1e-4, P: .01}).moves(),
		"raises the NLL by .0002 (95 % −.1000 to .1004, p = 1)":     (&Difference{Value: 2e-4, Low: -.1, High: .1004, P: 1}).moves(),
		"does not change the NLL":                                   (&Difference{Value: 0, Low: 0, High: 0, P: 1}).moves(),
		".00031 → .00011":                                           arrow(3.1e-4, 1.1e-4), ".3000 → .2050": arrow(.3, .205), "1.2000 → .9000": arrow(1.2, .9),
		"−.0001": fixed(-1e-4, 4), ".0000": fixed(-1e-6, 4), ".0000 ": nats(0) + " ",
	} {
		if got != want {
			t.Errorf("%q is written %q", want, got)
		}
	}
}

// TestRowsNeeded: four times in five, so many rows show the difference.
func TestRowsNeeded(t *testing.T) {
	const se = .08 / 1.959964 // for 100 rows
	if n := rowsFor(100, &Difference{Low: -.08, High: .08, seeds: .5}, .05, 1); n != 0 {
		t.Errorf("%d rows would make up for seeds that differ by more", n)
	}
	for _, tests := range []int{1, 4} {
		for _, seeds := range []float64{0, .1} {
			n := rowsFor(100, &Difference{Low: -.08, High: .08, seeds: seeds}, .05, tests)
			z := .05/(se*math.Sqrt((1-seeds)*100/float64(n)+seeds)) + distuv.UnitNormal.Quantile(.025/float64(tests))
			if power := distuv.UnitNormal.CDF(z); math.Abs(power-.8) > .02 { // of two significant digits
				t.Errorf("%d tests: %d rows, power %.3f", tests, n, power)
			}
		}
	}
	if n := rowsFor(40, &Difference{}, .01, 1); n != 41 {
		t.Errorf("a difference without an interval needs %d rows, not one more", n)
	}
}

func TestP(t *testing.T) {
	for want, got := range map[string]string{
		"≤ 1e-6": P(1e-9), ".03": P(.03), "p = .03": pEquals(.03), "p ≤ 1e-6": pEquals(0),
		"≤ 1/51": PAmong(1./51, 50), ".039": PAmong(2./51, 50),
	} {
		if got != want {
			t.Errorf("%q is written %q", want, got)
		}
	}
}

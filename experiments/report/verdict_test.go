package report

import (
	"math"
	"slices"
	"strings"
	"testing"

	"calibra/experiments/metrics"
)

// judged weighs methods whose differences to the reference are their own less its, each known to
// ±.01, with p 1e-9 beyond that and 0.5 within.
func judged(t *testing.T, candidates ...Candidate) *Verdict {
	t.Helper()
	classifier := slices.IndexFunc(candidates, func(c Candidate) bool { return c.Name == Classifier })
	v, err := Judge(candidates, classifier, func(m metrics.Metric, reference int) ([]*Difference, error) {
		out := make([]*Difference, len(candidates))
		for i, c := range candidates {
			d := c.NLL - candidates[reference].NLL
			if m == metrics.Accuracy {
				d = candidates[reference].Accuracy - c.Accuracy
			}
			if i != reference && !math.IsNaN(d) {
				out[i] = &Difference{Value: d, Low: d - .01, High: d + .01, P: .5}
				if math.Abs(d) > .01 {
					out[i].P = 1e-9
				}
			}
		}
		return out, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestJudge(t *testing.T) {
	nc := Candidate{Name: "nc", Title: "nc", NLL: .3, Accuracy: .9}
	ts := Candidate{Name: "ts", Title: "ts", NLL: .205, Accuracy: .9, Effort: 1}
	sm := Candidate{Name: "sm", Title: "sm", NLL: .2, Accuracy: .905, Effort: 9}
	vq := Candidate{Name: "vq", Title: "vq", NLL: .4, Accuracy: .8, Effort: 99}
	sly := Candidate{Name: "sly", Title: "sly", NLL: .199, Accuracy: .7, Effort: 2}
	for _, test := range []struct {
		name             string
		candidates       []Candidate
		best, use        string
		tied, harm, says string
	}{
		{"the simplest of those that are alike", []Candidate{nc, vq, sm, ts}, "sm", "ts", "ts", "vq", "ts is enough: within .0150 nats at 95 %"},
		{"the best alone", []Candidate{nc, vq, sm}, "sm", "sm", "", "vq", "NLL .3000 → .2000, accuracy .9000 → .9050; difference to the classifier as it is: NLL −.1000 (95 % −.1100 to −.0900, p ≤ 1e-6)"},
		{"nothing helps", []Candidate{vq, nc}, "nc", "nc", "", "vq", "Nothing improves the classifier as it is"},
		{"no classifier", []Candidate{ts, vq}, "ts", "ts", "", "", "was not compared"},
		{"accuracy lost is harm, and no remedy", []Candidate{nc, sm, sly}, "sly", "sm", "sm", "sly", "sm harms nothing: NLL .2000"},
		{"one that was not measured", []Candidate{nc, ts, {Name: "ir", Title: "ir", NLL: math.NaN(), Accuracy: math.NaN()}}, "ts", "ts", "", "", "ts is best"},
	} {
		v := judged(t, test.candidates...)
		text := strings.Join(v.Text(), " ")
		if v.Best != test.best || v.Use != test.use || strings.Join(v.Tied, " ") != test.tied || strings.Join(v.Harmful, " ") != test.harm || !strings.Contains(text, test.says) {
			t.Errorf("%s: best %s, use %s, tied %v, harm %v: %s", test.name, v.Best, v.Use, v.Tied, v.Harmful, text)
		}
		if !slices.IsSortedFunc(v.Methods, func(a, b *Judged) int {
			if a.NLL < b.NLL {
				return -1
			}
			return 1
		}) || v.Methods[0].Name != test.best {
			t.Errorf("%s: the methods are not sorted", test.name)
		}
		if f := v.Forest("data"); f != nil {
			if _, err := f.Render("svg"); err != nil {
				t.Errorf("%s: %v", test.name, err)
			}
		}
	}
	if v := judged(t, Candidate{Name: "ir", NLL: math.NaN()}); v != nil {
		t.Errorf("nothing was measured, and the verdict is %+v", v)
	}
}

func TestP(t *testing.T) {
	for want, got := range map[string]string{
		"≤ 1e-6": P(1e-9), "0.03": P(.03), "p = 0.03": pEquals(.03), "p ≤ 1e-6": pEquals(0),
		"≤ 1/51": PAmong(1./51, 50), "0.039": PAmong(2./51, 50),
	} {
		if got != want {
			t.Errorf("%q is written %q", want, got)
		}
	}
}

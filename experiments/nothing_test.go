package experiments

import (
	"math"
	"math/rand/v2"
	"testing"

	"calibra/data"

	"gonum.org/v1/gonum/stat"
)

// without are the methods that may end worse than the classifier itself on the rows they
// are fitted to, and why. None of them can be the identity, or they are kept as published.
var without = map[string]string{
	"vq": head, "vq-nc": head, "vq-dc": head, "vq-start": head, "vq-centred": head, "vq-rank": head, "vq-diagonal": head,
	"vq-tied": head, "vq-random": head, "vq-one": head, "new-head": head,
	"ps":           "fits each class against the others and divides by their sum",
	"kc":           averages,
	"kc-original":  averages,
	"ln":           averages,
	"pc":           "moves the confidence alone, by the density of rows that are right",
	"spline":       "is fitted to cumulative frequencies, not to the likelihood",
	"laplace":      "chooses its prior on rows held out, and makes logits only less sure",
	"ts-published": "stops where the published optimizer does",
	"dc-published": "stops where the published optimizer does",
}

const (
	head     = "predicts from the features, without the logits"
	averages = "averages labels of like rows"
)

// TestNoneIsWorseThanNothing on the calibration rows, of the methods that can be the
// identity: those that are not named above, a new one too. Half of the problems have
// logits that are certain and sometimes wrong. It takes more than 5 s, as each method is fitted to seven problems.
func TestNoneIsWorseThanNothing(t *testing.T) {
	signs := func(size float64, wrong int) func(x *data.Set) {
		return func(x *data.Set) {
			x.Logits.Apply(func(i, j int, _ float64) float64 {
				if (j == x.Labels[i]) != (i%wrong == 0) {
					return size
				}
				return -size
			}, x.Logits)
		}
	}
	times := func(by float64) func(x *data.Set) { return func(x *data.Set) { x.Logits.Scale(by, x.Logits) } }
	for name, change := range map[string]func(x *data.Set){
		"as they are": times(1), "halved": times(0.5), "of 1e-30": times(1e-30), "times 30": times(30),
		"±370, a fifth wrong": signs(370, 5), "±370, half wrong": signs(370, 2), "±370, one wrong": signs(370, math.MaxInt), // further apart they are masks
	} {
		cal, val := smallProblem(120, 1), smallProblem(60, 2)
		change(cal)
		change(val)
		nll := func(m Method) float64 {
			c := small(t, m)
			if err := c.Fit(t.Context(), cal, val, rand.New(rand.NewPCG(3, 0))); err != nil {
				t.Fatalf("%s on logits %s: %v", m.Name, name, err)
			}
			p, err := c.Predict(cal)
			if err != nil {
				t.Fatalf("%s on logits %s: %v", m.Name, name, err)
			}
			each := make([]float64, cal.Len())
			for i, y := range cal.Labels {
				each[i] = -p.LogProbs.At(i, y)
			}
			return stat.Mean(each, nil)
		}
		nothing, err := MethodByName("nc")
		if err != nil {
			t.Fatal(err)
		}
		before := nll(nothing)
		for _, m := range Methods {
			if without[m.Name] != "" {
				continue
			}
			if after := nll(m); !(after <= before*(1+1e-6)) { // the optimizers' tolerance
				t.Errorf("%s on logits %s: the NLL is %v, and %v without it", m.Name, name, after, before)
			}
		}
	}
	for name := range without {
		if _, err := MethodByName(name); err != nil {
			t.Errorf("%v", err)
		}
	}
}

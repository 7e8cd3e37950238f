package metrics

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"calibra/experiments/internal/checked/checkedtest"

	"gonum.org/v1/gonum/mat"
)

// TestDecompositionByHand: the classes' curves through .2, .4, .6 and .8 are 0, ½, ½ and 1 where the labels are 0, 1,
// 0, 1. The tests of the Python package hold both scores to model-diagnostics.
func TestDecompositionByHand(t *testing.T) {
	p := mat.NewDense(4, 2, []float64{.8, .2, .6, .4, .4, .6, .2, .8})
	d := evaluateRows(t, logs(p), []int{0, 1, 0, 1}, nil, Settings{}, onlyValues).Decomposition
	nll, recalibrated := -(math.Log(.8)+math.Log(.4))/2, math.Ln2/2
	for _, is := range []struct{ got, want float64 }{
		{d.Brier.Miscalibration.Value, 2 * (.2 - .125)}, {d.Brier.Discrimination.Value, 2 * (.25 - .125)}, {d.Brier.Uncertainty.Value, 2 * .25},
		{d.NLL.Miscalibration.Value, nll - recalibrated}, {d.NLL.Discrimination.Value, math.Ln2 - recalibrated}, {d.NLL.Uncertainty.Value, math.Ln2},
	} {
		if !near(is.got, is.want, 1e-12) {
			t.Errorf("a part is %v, not %v: %+v", is.got, is.want, d)
		}
	}
}

// TestLawsOfDecomposition: the parts add up to the scores; the Brier score's are never below 0; one probability for all
// rows tells nothing apart; order-preserving changes of two classes' probabilities change the miscalibration alone;
// classes may be relabelled.
func TestLawsOfDecomposition(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	l, labels, _, weights, soft := checkedtest.Weighed()
	sharp := generate(300, 2, 1, 2, rng)
	for name, of := range map[string]struct {
		logProbs *mat.Dense
		labels   []int
		by       Settings
	}{
		"weighed": {l, labels, Settings{Rows: weights}}, "soft": {l, nil, Settings{Soft: soft}}, "two": {sharp.logProbs, sharp.labels, Settings{}},
	} {
		r := evaluateRows(t, of.logProbs, of.labels, nil, of.by, onlyValues)
		for m, parts := range map[Metric]ScoreParts{NLL: r.Decomposition.NLL, Brier: r.Decomposition.Brier} {
			mcb, dsc, unc := parts.Miscalibration.Value, parts.Discrimination.Value, parts.Uncertainty.Value
			if !near(mcb-dsc+unc, r.Values[m], 1e-12) {
				t.Errorf("%s: %v − %v + %v is not the %s, %v", name, mcb, dsc, unc, m, r.Values[m])
			}
			if m == Brier && min(mcb, dsc, unc) < -1e-12 {
				t.Errorf("%s: a part of the Brier score is below 0: %v, %v, %v", name, mcb, dsc, unc)
			}
		}
	}
	of := evaluateRows(t, sharp.logProbs, sharp.labels, nil, Settings{}, onlyValues).Decomposition
	blunt, swapped, one, other := mat.NewDense(300, 2, nil), mat.NewDense(300, 2, nil), mat.NewDense(300, 2, nil), slices.Clone(sharp.labels)
	for i := range other {
		row := blunt.RawRowView(i)
		for c, lp := range sharp.logProbs.RawRowView(i) {
			row[c] = lp / 3
			swapped.Set(i, 1-c, lp)
			one.Set(i, c, math.Log(.25+.5*float64(c)))
		}
		logSoftmax(row)
		other[i] = 1 - other[i]
	}
	same := func(what string, a, b float64) {
		if !near(a, b, 1e-9) && math.Abs(a-b) > 1e-12 {
			t.Errorf("%s: %v and %v", what, a, b)
		}
	}
	again := evaluateRows(t, blunt, sharp.labels, nil, Settings{}, onlyValues).Decomposition
	same("discrimination of blunter predictions", again.NLL.Discrimination.Value, of.NLL.Discrimination.Value)
	same("discrimination of blunter predictions", again.Brier.Discrimination.Value, of.Brier.Discrimination.Value)
	same("discrimination of one probability", evaluateRows(t, one, sharp.labels, nil, Settings{}, onlyValues).Decomposition.NLL.Discrimination.Value, 0)
	same("miscalibration of classes in another order", evaluateRows(t, swapped, other, nil, Settings{}, onlyValues).Decomposition.NLL.Miscalibration.Value, of.NLL.Miscalibration.Value)
}

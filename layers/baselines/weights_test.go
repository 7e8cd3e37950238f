package baselines

import (
	"math"
	"slices"
	"strings"
	"testing"

	"calibra/data"
	"calibra/optim"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"
)

// TestWeights of all methods: what rows of another weight say, and that it is another fit.
func TestWeights(t *testing.T) {
	cal, _ := problems()["dirichlet"].draw(300, 1)
	test, _ := problems()["dirichlet"].draw(120, 3)
	weighed := *cal
	weighed.Weights = data.Each(data.UpTo(300), func(i int) float64 { return float64(i%4) / 2 })
	positive := slices.DeleteFunc(data.UpTo(300), func(i int) bool { return i%4 == 0 })
	rest := weighed.Rows(positive)
	times := *rest
	times.Weights = data.Each(rest.Weights, func(w float64) float64 { return 7.3 * w })
	for name, m := range withoutChoice() {
		a, b, c, plain := m.new(), m.new(), m.new(), m.new()
		fit(t, a, weighed.ForFit(), nil)
		fit(t, b, rest.ForFit(), nil)
		fit(t, c, times.ForFit(), nil)
		fit(t, plain, cal.Rows(positive), nil)
		said := predict(t, a, test)
		for what, other := range map[string]*data.Predictions{"rows left out": predict(t, b, test), "all weights times a number": predict(t, c, test)} {
			if off := furthest(said, other); off > 0 {
				t.Errorf("%s: %s is %g from rows of weight 0", name, what, off)
			}
		}
		if off := furthest(said, predict(t, plain, test)); name != "nc" && off < 1e-7 {
			t.Errorf("%s: weights move probabilities by %g alone", name, off)
		}
	}
}

// withoutChoice are the methods with one strength to choose: which folds judge it is drawn.
func withoutChoice() map[string]method {
	return within(effort{published: optim.FixedLBFGS{Iterations: 50}, epochs: 3, strengths: []float64{1e-2}})
}

// apart is how far two fits of one loss, summed in another order, may be in probabilities.
func apart(name string, m method) float64 {
	switch {
	case m.commutes == converged:
		return 1e-3 // each to a gradient of 1e-6
	case strings.HasSuffix(name, "-published"):
		return 1e-4 // both on the way, where rounding grows
	}
	return 1e-9
}

// furthest is the largest difference of two probabilities.
func furthest(a, b *data.Predictions) float64 {
	return floats.Distance(exponentials(a.LogProbs).RawMatrix().Data, exponentials(b.LogProbs).RawMatrix().Data, math.Inf(1))
}

// byRows are the methods to which two rows of one place are not one row: whose bins, quantiles, folds, batches or
// neighbours are of rows, or whose penalty weighs against the effective number of rows.
var byRows = []string{"ps", "ps with C", "sm", "sv", "local-ts", "new-head", "histogram", "spline", "procal", "ln", "kc", "kc-original"}

// TestSoftLabels: a row of two classes is the two rows with those shares as weights, and a share of
// 1 is a label.
func TestSoftLabels(t *testing.T) {
	p := problems()["dirichlet"]
	cal, _ := p.draw(300, 1)
	test, _ := p.draw(120, 3)
	soft, sharp := mat.NewDense(300, 3, nil), mat.NewDense(300, 3, nil)
	var rows, labels []int
	var shares []float64
	for i, y := range cal.Labels {
		sharp.Set(i, y, 1)
		soft.Set(i, y, .75)
		soft.Set(i, (y+1)%3, .25)
		rows, labels, shares = append(rows, i, i), append(labels, y, (y+1)%3), append(shares, .75, .25)
	}
	uncertain, certain, two := *cal, *cal, cal.Rows(rows)
	uncertain.Soft, certain.Soft = soft, sharp
	two.Labels, two.Weights = labels, shares
	for name, m := range withoutChoice() {
		within := apart(name, m)
		a, b, c, d := m.new(), m.new(), m.new(), m.new()
		fit(t, a, &uncertain, nil)
		fit(t, b, two, nil)
		fit(t, c, &certain, nil)
		fit(t, d, cal, nil)
		if off := furthest(predict(t, a, test), predict(t, b, test)); !(off <= within) && !slices.Contains(byRows, name) {
			t.Errorf("%s: a row of two classes is %g from two rows", name, off)
		}
		if off := furthest(predict(t, c, test), predict(t, d, test)); !(off <= within) {
			t.Errorf("%s: a share of 1 is %g from a label", name, off)
		}
	}
}

// TestHistogramOfWeights by hand: of weights 1, 1, 2, 4 in ascending order two bins of four rows each.
func TestHistogramOfWeights(t *testing.T) {
	s := histogram(ties{}.values([]float64{.4, .1, .2, .3}), []float64{1, 0, 1, 1}, []float64{4, 1, 1, 2}, 2)
	if !scalar.EqualWithinAbs(s.x[0], .3+.1*between, 1e-15) || s.x[1] != .4 || !scalar.EqualWithinAbs(s.y[0], .75, 1e-15) || s.y[1] != 1 {
		t.Errorf("steps %+v", s)
	}
	s = isotonic(ties{}.values([]float64{1, 2, 3}), []float64{0, 1, 0}, []float64{1, 1, 3}, ties{})
	if s.at(1) != 0 || s.at(2) != .25 || s.at(3) != .25 {
		t.Errorf("steps %+v", s)
	}
}

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

// refuse are the methods that take no weights.
var refuse = []string{"spline", "local-ts", "procal", "procal-bins", "procal-hist", "ln", "kc", "kc-original", "boosted", "clustered", "dac"}

// TestAWeightIsThatManyCopies in every fit: weights of 1, 2 and 3 are copies, in probabilities
// within what the method's own minimizer leaves.
func TestAWeightIsThatManyCopies(t *testing.T) {
	for problemName, p := range problems() {
		cal, _ := p.draw(300, 1)
		test, _ := p.draw(120, 3)
		weights, copies := make([]float64, 300), []int(nil)
		for i := range weights {
			weights[i] = float64(1 + i%3)
			for range 1 + i%3 {
				copies = append(copies, i)
			}
		}
		weighted := *cal
		weighted.Weights = weights
		for name, m := range withoutChoice() {
			if slices.Contains(refuse, name) || problemName == "zeros" && name == "ts" {
				continue
			}
			t.Run(problemName+"/"+name, func(t *testing.T) {
				a, b, plain := m.new(), m.new(), m.new()
				fit(t, a, &weighted, nil)
				fit(t, b, cal.Rows(copies), nil)
				fit(t, plain, cal, nil)
				got, want := predict(t, a, test), predict(t, b, test)
				if d := furthest(got, want); !(d <= apart(name, m)) {
					t.Errorf("probabilities are %g from those of copies", d)
				}
				if d := furthest(got, predict(t, plain, test)); name != "nc" && problemName == "dirichlet" && d < 1e-6 {
					t.Errorf("weights move probabilities by %g alone", d)
				}
			})
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
		if slices.Contains(refuse, name) {
			continue
		}
		within := apart(name, m)
		a, b, c, d := m.new(), m.new(), m.new(), m.new()
		fit(t, a, &uncertain, nil)
		fit(t, b, two, nil)
		fit(t, c, &certain, nil)
		fit(t, d, cal, nil)
		if off := furthest(predict(t, a, test), predict(t, b, test)); !(off <= within) && name != "histogram" && name != "top-label" { // whose bins hold rows
			t.Errorf("%s: a row of two classes is %g from two rows", name, off)
		}
		if off := furthest(predict(t, c, test), predict(t, d, test)); !(off <= within) {
			t.Errorf("%s: a share of 1 is %g from a label", name, off)
		}
	}
}

// TestMethodsThatRefuseWeights do so when they are asked.
func TestMethodsThatRefuseWeights(t *testing.T) {
	cal, _ := problems()["dirichlet"].draw(300, 1)
	cal.Weights = slices.Repeat([]float64{.5}, 300)
	for _, name := range refuse {
		if err := methods()[name].new().Fit(t.Context(), cal, nil, newRand(1)); err == nil || !strings.Contains(err.Error(), "it takes no weights") {
			t.Errorf("%s says %v", name, err)
		}
	}
}

// TestHistogramOfWeights by hand: of weights 1, 1, 2, 4 in ascending order two bins of four rows each.
func TestHistogramOfWeights(t *testing.T) {
	s := histogram(ties{}.values([]float64{.4, .1, .2, .3}), []float64{1, 0, 1, 1}, []float64{4, 1, 1, 2}, 2)
	if !slices.Equal(s.x, []float64{.35, .4}) || !scalar.EqualWithinAbs(s.y[0], .75, 1e-15) || s.y[1] != 1 {
		t.Errorf("steps %+v", s)
	}
	s = isotonic(ties{}.values([]float64{1, 2, 3}), []float64{0, 1, 0}, []float64{1, 1, 3}, ties{})
	if s.at(1) != 0 || s.at(2) != .25 || s.at(3) != .25 {
		t.Errorf("steps %+v", s)
	}
}

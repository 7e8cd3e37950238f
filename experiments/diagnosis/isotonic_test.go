package diagnosis

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"calibra/experiments/internal/checked"

	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"
)

// twoClasses are predictions of class 0 with these probabilities of at least ½, right where the hit is 1.
func twoClasses(x []float64, hits []int) (*mat.Dense, []int) {
	logProbs, labels := mat.NewDense(len(x), 2, nil), make([]int, len(x))
	for i, p := range x {
		logProbs.SetRow(i, []float64{math.Log(p), math.Log1p(-p)})
		labels[i] = 1 - hits[i]
	}
	return logProbs, labels
}

// Golden: scikit-learn 1.9.1, IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip"), and the Brier scores of what it
// predicts.
func TestIsotonicAgreesWithScikitLearn(t *testing.T) {
	x := []float64{.81, .95, .89, .61, .65, .94, .5, .91, .9, .73, .65, .64, .63, .72, .75, .78, .999, .9, .81, .99, .61, .58, .81, .52, .52, .76, .73, .96, .81, .76, .75, .62, .51, .6, .85, .6, .68, .5, .92, .58}
	hits := []int{1, 1, 1, 0, 0, 1, 1, 1, 1, 0, 1, 0, 1, 1, 1, 1, 1, 1, 0, 1, 0, 0, 0, 1, 0, 1, 1, 1, 0, 1, 0, 1, 0, 0, 1, 0, 0, 0, 1, 1}
	logProbs, labels := twoClasses(x, hits)
	c := isotonic(sampleOf(t, logProbs, labels, nil), rand.New(rand.NewPCG(1, 2)))
	for at, want := range map[float64]float64{.5: 3. / 11, .55: 3. / 11, .6: 3. / 11, .7: 13. / 24, .8: 7. / 12, .9: 1, .95: 1, .999: 1} {
		if got := c.At(at); !scalar.EqualWithinAbs(got, want, 1e-12) {
			t.Errorf("at %v the curve is %v, not %v", at, got, want)
		}
	}
	// of the x above, 1.0 written .999: the miscalibration moves by 1e-6/40
	if !scalar.EqualWithinAbs(c.Miscalibration, 0.047295378787878845, 1e-7) || !scalar.EqualWithinAbs(c.Discrimination, 0.07503787878787879, 1e-12) || !scalar.EqualWithinAbs(c.Uncertainty, 0.24, 1e-12) {
		t.Errorf("the parts of the Brier score are %v, %v and %v", c.Miscalibration, c.Discrimination, c.Uncertainty)
	}
	if !slices.IsSorted(c.X) || !slices.IsSorted(c.Y) {
		t.Errorf("the curve falls: %v, %v", c.X, c.Y)
	}
}

// A row of weight 2 is two rows.
func TestWeightsAreCopies(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	var x, weights, copies []float64
	var hits, copied []int
	for range 200 {
		p, hit, weight := .5+.49*rng.Float64(), rng.IntN(2), 1+rng.IntN(2)
		x, hits, weights = append(x, p), append(hits, hit), append(weights, float64(weight))
		for range weight {
			copies, copied = append(copies, p), append(copied, hit)
		}
	}
	logProbs, labels := twoClasses(x, hits)
	weighted := isotonic(sampleOf(t, logProbs, labels, weights), nil)
	logProbs, labels = twoClasses(copies, copied)
	whole := isotonic(sampleOf(t, logProbs, labels, nil), nil)
	for _, at := range []float64{.5, .6, .7, .8, .9} {
		if a, b := weighted.At(at), whole.At(at); !scalar.EqualWithinAbs(a, b, 1e-12) {
			t.Errorf("at %v the curve of weights is %v, that of copies %v", at, a, b)
		}
	}
	if !scalar.EqualWithinAbs(weighted.Miscalibration, whole.Miscalibration, 1e-12) {
		t.Errorf("miscalibration %v of weights, %v of copies", weighted.Miscalibration, whole.Miscalibration)
	}
}

// The curve of calibrated predictions lies in its band nearly everywhere, that of overconfident ones mostly outside.
func TestIsotonicBand(t *testing.T) {
	outside := func(power float64) (share float64) {
		rng := rand.New(rand.NewPCG(3, 4))
		x, hits := make([]float64, 4000), make([]int, 4000)
		for i := range x {
			x[i] = .5 + .49*rng.Float64()
			if rng.Float64() < math.Pow(x[i], power) {
				hits[i] = 1
			}
		}
		logProbs, labels := twoClasses(x, hits)
		c := isotonic(sampleOf(t, logProbs, labels, nil), rng)
		for k, place := range c.Places {
			if y := c.At(place); y < c.Low[k] || y > c.High[k] {
				share += 1 / float64(len(c.Places))
			}
		}
		return share
	}
	// a band of 95 % at each place: places near each other lie outside together, so that .2 is left
	if share := outside(1); share > 0.2 {
		t.Errorf("%.2f of the curve of calibrated predictions is outside its band", share)
	}
	if share := outside(2); share < 0.8 {
		t.Errorf("%.2f of the curve of overconfident predictions is outside its band", share)
	}
}

// By hand: of class 0 one row of three is taken for class 1, with .6; of class 1 none; class 2 has no row.
func TestConfusion(t *testing.T) {
	logs := func(p ...float64) []float64 {
		for i := range p {
			p[i] = math.Log(p[i])
		}
		return p
	}
	logProbs := mat.NewDense(4, 3, slices.Concat(logs(.3, .6, .1), logs(.8, .1, .1), logs(.7, .2, .1), logs(.1, .8, .1)))
	rows := sampleOf(t, logProbs, []int{0, 0, 0, 1}, nil)
	c := confusion(rows, 10)
	if !slices.Equal(c.Rows, []float64{3, 1, 0}) || len(c.Taken) != 1 {
		t.Fatalf("classes have %v rows, and %+v are taken for others", c.Rows, c.Taken)
	}
	if m := c.Taken[0]; m.Class != 0 || m.For != 1 || m.Rows != 1 || !scalar.EqualWithinAbs(m.Confidence, .6, 1e-15) {
		t.Errorf("taken for others: %+v", m)
	}
	if two := confusion(rows, 2); !slices.Equal(two.Classes, []int{0, 1}) || two.Of != 3 {
		t.Errorf("the two most confused of three are %v", two)
	}
}

// checked are predictions whose rows count by the weights, nil: 1 each.
func sampleOf(t *testing.T, logProbs *mat.Dense, labels []int, weights []float64) *checked.Sample {
	t.Helper()
	s, err := checked.NewSample(logProbs, labels, weights, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

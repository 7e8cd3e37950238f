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

// Of calibrated predictions the diagonal lies in the band of their curve and their bins in the bars, of overconfident
// ones mostly not.
func TestReliabilityBands(t *testing.T) {
	outside := func(power float64) (curve, bins float64) {
		rng := rand.New(rand.NewPCG(3, 4))
		x, hits := make([]float64, 4000), make([]int, 4000)
		for i := range x {
			x[i] = .5 + .49*rng.Float64()
			if rng.Float64() < math.Pow(x[i], power) {
				hits[i] = 1
			}
		}
		logProbs, labels := twoClasses(x, hits)
		r := reliability(sampleOf(t, logProbs, labels, nil), rng)
		for k, at := range r.Curve.At {
			if at < r.Curve.Low[k] || at > r.Curve.High[k] {
				curve += 1 / float64(len(r.Curve.At))
			}
		}
		for _, b := range r.Bins {
			if b.Frequency < b.Low || b.Frequency > b.High {
				bins += 1 / float64(len(r.Bins))
			}
		}
		return curve, bins
	}
	// a band of 95 % at each place: places near each other lie outside together, so that .2 is left; of 15 bins that
	// are independent more than three lie outside in one of 180 samples
	if curve, bins := outside(1); curve > 0.2 || bins > 0.2 {
		t.Errorf("of calibrated predictions %.2f of the curve and %.2f of the bins are outside", curve, bins)
	}
	if curve, bins := outside(2); curve < 0.8 || bins < 0.8 {
		t.Errorf("of overconfident predictions only %.2f of the curve and %.2f of the bins are outside", curve, bins)
	}
}

// Bins hold every row once, rows of one confidence together, and none is more than a fifteenth and one such group
// heavy.
func TestEqualMasses(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, n := range []int{1, 19, 40, 299, 1000} {
		x, weights := make([]float64, n), make([]float64, n)
		for i := range x {
			x[i], weights[i] = math.Round(100*rng.Float64())/100, rng.ExpFloat64()
		}
		slices.Sort(x)
		bins, next := equalMasses(x, weights), 0
		for _, b := range bins {
			if b[0] != next || b[1] <= b[0] || b[1] < n && x[b[1]] == x[b[1]-1] {
				t.Errorf("%d rows: bins %v", n, bins)
			}
			next = b[1]
		}
		if next != n || len(bins) > mostBins || n >= 300 && len(bins) < mostBins {
			t.Errorf("%d rows: bins %v", n, bins)
		}
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

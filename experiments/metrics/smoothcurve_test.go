package metrics

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"
)

// TestSmoothCurve: the curve is its formula, summed row by row with the kernel's images beyond both ends; a row of weight 2 is two
// rows; and places without rows near them are left out.
func TestSmoothCurve(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	var x, hits, weights, copies, copied []float64
	for range 500 {
		p, hit, weight := .5*rng.Float64(), 0., float64(1+rng.IntN(2))
		if p > .3 {
			p += .5
		}
		if rng.Float64() < p {
			hit = 1
		}
		x, hits, weights = append(x, p), append(hits, hit), append(weights, weight)
		for range int(weight) {
			copies, copied = append(copies, p), append(copied, hit)
		}
	}
	c, whole := NewSmoothCurve(x, hits, weights, rng), NewSmoothCurve(copies, copied, nil, nil)
	if math.Abs(c.Width-whole.Width) > 1e-12 || math.Abs(c.Error-whole.Error) > 1e-12 {
		t.Errorf("σ %v and smECE %v of weights, %v and %v of copies", c.Width, c.Error, whole.Width, whole.Error)
	}
	if slices.ContainsFunc(c.At, func(t float64) bool { return t > .4 && t < .7 }) {
		t.Errorf("the curve has places between .3 and .8, where no row is: %v, σ %v", c.At, c.Width)
	}
	for k, at := range c.At {
		var hit, all float64
		for i, f := range x {
			for _, image := range []float64{f, -f, 2 - f} {
				w := weights[i] * math.Exp(-(at-image)*(at-image)/(2*c.Width*c.Width))
				hit, all = hit+w*hits[i], all+w
			}
		}
		// the grid of 1,001 points shares each row by the two beside it: an error of (.001/σ)²/8 of the kernel
		if want := hit / all; math.Abs(c.Frequency[k]-want) > 1e-3 || c.Low[k] > want || c.High[k] < want {
			t.Errorf("at %.3f the curve is %.4f (%.4f to %.4f), not %.4f", at, c.Frequency[k], c.Low[k], c.High[k], want)
		}
	}
	// where rows are many, 3.92 standard errors of the weighted mean under the kernel are as wide as the band, within a fifth
	var ratios []float64
	for k, at := range c.At {
		var all, squares float64
		for i, f := range x {
			for _, image := range []float64{f, -f, 2 - f} {
				w := weights[i] * math.Exp(-(at-image)*(at-image)/(2*c.Width*c.Width))
				all += w
				squares += w * w * (hits[i] - c.Frequency[k]) * (hits[i] - c.Frequency[k])
			}
		}
		ratios = append(ratios, (c.High[k]-c.Low[k])/(3.92*math.Sqrt(squares)/all))
	}
	if mean := stat.Mean(ratios, nil); mean < .8 || mean > 1.2 {
		t.Errorf("the band is %.2f times as wide as the standard error says", mean)
	}
}

package metrics

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
)

// truths are how often rows of a confidence hit.
var truths = map[string]func(f float64) float64{
	"calibrated": func(f float64) float64 { return f },
	"7 % less":   func(f float64) float64 { return .93 * f },
	"square":     func(f float64) float64 { return f * f },
	"half the logit": func(f float64) float64 {
		return 1 / (1 + math.Sqrt((1-f)/f))
	},
}

// confident draws ascending confidences, of which half lie within 1/16 of 1, and hits by a truth.
func confident(rows int, truth func(float64) float64, rng *rand.Rand) (confidence, hit, weight []float64) {
	for range rows {
		u := rng.Float64()
		confidence = append(confidence, 1-u*u*u/2)
	}
	slices.Sort(confidence)
	hit, weight = make([]float64, rows), slices.Repeat([]float64{1}, rows)
	for i, f := range confidence {
		if rng.Float64() < truth(f) {
			hit[i] = 1
		}
	}
	return confidence, hit, weight
}

// TestIsotonicCurveIsNearTheTruth: of 20,000 rows the curve lies within .02 of the truth wherever it is drawn, and it
// is drawn over all but at most the sparsest 5 % of the rows and the surest 2.5 %.
func TestIsotonicCurveIsNearTheTruth(t *testing.T) {
	for name, truth := range truths {
		for seed := range uint64(5) {
			confidence, hit, weight := confident(20000, truth, rand.New(rand.NewPCG(seed, 2)))
			c := NewIsotonicCurve(confidence, hit, weight, nil)
			from, _ := slices.BinarySearch(confidence, c.At[0])
			to, _ := slices.BinarySearch(confidence, c.At[len(c.At)-1])
			if from > 1000 || to < 19500 {
				t.Errorf("%s, seed %d: the curve is drawn from row %d to row %d", name, seed, from, to)
			}
			for _, f := range confidence[from:to] {
				if off := math.Abs(interpolate(c.At, c.Frequency, f) - truth(f)); off > 0.02 {
					t.Fatalf("%s, seed %d: at %.3f the curve is %.4f off", name, seed, f, off)
				}
			}
		}
	}
}

// TestIsotonicCurveCovers: at a place the interval holds the truth in 95 % of draws, and of calibrated predictions 5 %
// of the curves lie outside the region. Over 100 draws, whose places go together, the standard error of either is about
// .01 (400 draws give .96 to .98 of these truths, and .03 to .05).
func TestIsotonicCurveCovers(t *testing.T) {
	sizes := []int{300, 1000}
	if testing.Short() {
		sizes = sizes[:1]
	}
	for name, truth := range truths {
		for _, rows := range sizes {
			t.Run(fmt.Sprint(name, " ", rows), func(t *testing.T) {
				t.Parallel()
				var places, held, outside float64
				for seed := range uint64(100) {
					rng := rand.New(rand.NewPCG(seed, 7))
					confidence, hit, weight := confident(rows, truth, rng)
					c := NewIsotonicCurve(confidence, hit, weight, rng)
					for j, f := range c.At {
						places++
						if y := truth(f); c.Low[j] <= y && y <= c.High[j] {
							held++
						}
						if y := c.Frequency[j]; y < c.CalibratedLow[j] || y > c.CalibratedHigh[j] {
							outside++
						}
					}
				}
				if held/places < 0.93 {
					t.Errorf("the interval holds the truth in %.3f", held/places)
				}
				if name == "calibrated" && outside/places > 0.07 {
					t.Errorf("%.3f of the curves of calibrated predictions lie outside", outside/places)
				}
			})
		}
	}
}

// TestIsotonicCurveIsMeansOfTheRegression: of weighted rows, by summing max-min's isotonic regression over each window.
func TestIsotonicCurveIsMeansOfTheRegression(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	confidence, hit, weight := confident(60, truths["square"], rng)
	for i := range weight {
		weight[i] = rng.ExpFloat64()
	}
	mean := func(a, b int) float64 { return floats.Dot(weight[a:b+1], hit[a:b+1]) / floats.Sum(weight[a:b+1]) }
	regression := make([]float64, len(hit))
	for k := range regression { // Robertson, Wright and Dykstra 1988, theorem 1.4.4
		for a := range k + 1 {
			least := math.Inf(1)
			for b := k; b < len(hit); b++ {
				least = min(least, mean(a, b))
			}
			regression[k] = max(regression[k], least)
		}
	}
	r := newIsotonic(confidence, weight)
	fit := r.fit(func(i int) float64 { return hit[i] })
	for j := range r.at {
		var below, at, want float64
		for i, w := range weight {
			if inside := min(below+w, r.to[j]) - max(below, r.from[j]); inside > 0 {
				at += inside * confidence[i] / (r.to[j] - r.from[j])
				want += inside * regression[i] / (r.to[j] - r.from[j])
			}
			below += w
		}
		if math.Abs(r.at[j]-at) > 1e-12 || math.Abs(fit[j]-want) > 1e-12 || j > 0 && fit[j] < fit[j-1]-1e-12 { // sums of 60
			t.Errorf("at %.6f the curve is %.6f, not %.6f at %.6f", r.at[j], fit[j], want, at)
		}
	}
}

// TestIsotonicCurveOfFewValues: one confidence gives one place, and a curve where all rows hit is 1 with an interval
// that has a width.
func TestIsotonicCurveOfFewValues(t *testing.T) {
	ones := slices.Repeat([]float64{1}, 40)
	c := NewIsotonicCurve(slices.Repeat([]float64{.75}, 40), ones, ones, rand.New(rand.NewPCG(1, 2)))
	if len(c.At) != 1 || c.At[0] != .75 || c.Frequency[0] != 1 {
		t.Fatalf("at %v the curve is %v", c.At, c.Frequency)
	}
	// Clopper and Pearson's limit of 40 of 40 is .912
	if c.High[0] != 1 || c.Low[0] < .85 || c.Low[0] > .95 || c.CalibratedHigh[0] > .95 {
		t.Errorf("interval %v to %v, of calibrated predictions %v to %v", c.Low, c.High, c.CalibratedLow, c.CalibratedHigh)
	}
}

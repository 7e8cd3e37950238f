package metrics

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
)

// SmoothCurve is how often predictions hit against their confidence, by the kernel of the smooth calibration error: of rows with
// confidences f_i, weights w_i and hits h_i
//
//	μ(t) = Σ_i K_σ(t, f_i) w_i h_i / Σ_i K_σ(t, f_i) w_i
//
// at the σ where smECE_σ is σ, as relplot draws it (Błasiok and Nakkiran 2023).
type SmoothCurve struct {
	Error float64 `json:"error"` // smECE
	Width float64 `json:"width"` // σ
	// Frequency is μ at each of At, which ascend.
	At        []float64 `json:"at"`
	Frequency []float64 `json:"frequency"`
	// Low and High are where 95 % of the curves of rows that are drawn again lie, with replacement and at the same σ.
	Low  []float64 `json:"low,omitempty"`
	High []float64 `json:"high,omitempty"`
}

const (
	curvePlaces  = 101
	curveRedraws = 200
	curveFewest  = 40  // redraws
	curveWork    = 2e7 // rows that are redrawn in all: of many rows the band needs fewer redraws
	curveRows    = 5   // as many, by their kernels, lie at each place: where there are fewer the curve has none
)

// NewSmoothCurve is the curve of rows; weight nil: 1. Its band is drawn from rng; nil: it has none.
func NewSmoothCurve(confidence, hit, weight []float64, rng *rand.Rand) *SmoothCurve {
	s := newSmoothed(confidence, weight)
	sigma, smECE := s.width(func(i int) float64 { return hit[i] })
	c := &SmoothCurve{Error: smECE, Width: sigma}
	if weight == nil {
		weight = slices.Repeat([]float64{1}, len(confidence))
	}
	kernel := newSmoothingKernel(max(sigma, smoothLeast))
	low, high := floats.Min(confidence), floats.Max(confidence)
	kernel.at = []float64{low}
	if low < high {
		kernel.at = floats.Span(make([]float64, curvePlaces), low, high)
	}
	enough := curveRows * stat.Mean(weight, nil) * kernel.weight[kernel.half] // the kernel's peak
	for i, density := range kernel.smooth(confidence, weight) {
		if density >= enough {
			c.At = append(c.At, kernel.at[i])
		}
	}
	kernel.at = c.At
	c.Frequency = kernel.regress(confidence, hit, weight)
	if rng != nil && len(c.At) > 0 {
		c.band(kernel, confidence, hit, weight, rng)
	}
	return c
}

// regress is μ at the points t.
func (k *smoothingKernel) regress(confidence, hit, weight []float64) []float64 {
	hits := k.smooth(confidence, floats.MulTo(make([]float64, len(hit)), hit, weight))
	for i, all := range k.smooth(confidence, weight) {
		hits[i] = math.Min(1, math.Max(0, hits[i]/all))
	}
	return hits
}

// band finds Low and High.
func (c *SmoothCurve) band(kernel *smoothingKernel, confidence, hit, weight []float64, rng *rand.Rand) {
	n := len(confidence)
	values := make([][]float64, len(c.At))
	drawn := make([]float64, n)
	for range max(curveFewest, min(curveRedraws, int(curveWork)/n)) {
		clear(drawn)
		for range n {
			i := rng.IntN(n)
			drawn[i] += weight[i]
		}
		for k, y := range kernel.regress(confidence, hit, drawn) {
			if !math.IsNaN(y) { // no row near the place was drawn
				values[k] = append(values[k], y)
			}
		}
	}
	for _, v := range values {
		slices.Sort(v)
		c.Low = append(c.Low, stat.Quantile(0.025, stat.Empirical, v, nil))
		c.High = append(c.High, stat.Quantile(0.975, stat.Empirical, v, nil))
	}
}

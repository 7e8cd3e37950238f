package data

import (
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
)

// NewCalibrated is a classifier that says the true posterior: z ~ N(0, I), logits u. Every
// calibrator should leave it as it is.
func NewCalibrated(s SyntheticSettings, rng *rand.Rand) *Synthetic {
	g := NewCubic(s, rng)
	g.warp = func([]float64, []float64, int) {}
	return g
}

// NewRare is a classifier that is wrong in rare regions alone. Rows come from Regions
// Gaussians as in [NewProximity], weights 1, ½, ¼, …; in the rarer half of these, rounded
// down, the logits are
//
//	(1 + s) u + 2s b_region ,   b from N(0, I)
//
// with s the Strength: overconfident, and drawn to other classes in each region. Elsewhere
// they are u, which is exact. Of six regions the wrong three hold a ninth of the rows.
func NewRare(s SyntheticSettings, rng *rand.Rand) *Synthetic {
	g := newSynthetic(s, rng)
	s = g.SyntheticSettings
	centres, shifts, weight := normal(s.Regions, s.Features, 2, rng), normal(s.Regions, s.Classes, 1, rng), halving(s.Regions)
	g.draw = func(z []float64, rng *rand.Rand) int { return around(centres, weight, z, rng) }
	g.warp = func(u, _ []float64, region int) {
		if region < s.Regions-s.Regions/2 {
			return
		}
		for k, b := range shifts.RawRowView(region) {
			u[k] = (1+s.Strength)*u[k] + 2*s.Strength*b
		}
	}
	return g
}

// around draws a row from one of the Gaussians, and tells which.
func around(centres *mat.Dense, weight, z []float64, rng *rand.Rand) int {
	region := categorical(weight, rng)
	for j, c := range centres.RawRowView(region) {
		z[j] = c + rng.NormFloat64()
	}
	return region
}

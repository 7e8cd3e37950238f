package synthetic

import (
	"math"
	"math/rand/v2"
)

// NewCalibrated is a classifier that returns the true posterior: z ~ N(0, I), logits u. Every
// calibrator should leave it as it is.
func NewCalibrated(s Settings, rng *rand.Rand) *Problem {
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
// they are u, which is exact. With six regions, the three wrong ones hold a ninth of the rows.
func NewRare(s Settings, rng *rand.Rand) *Problem {
	g, r := newRegions(s, rng)
	s = g.Settings
	g.warp = func(u, _ []float64, region int) {
		if region < s.Regions-s.Regions/2 {
			return
		}
		for k, b := range r.shifts.RawRowView(region) {
			u[k] = (1+s.Strength)*u[k] + 2*s.Strength*b
		}
	}
	return g
}

// NewLongTail is a classifier of many classes, few of them common: the classifier of [NewProximity]
// with three times its weights, and the posterior of a row
//
//	softmax(u),  u_k = w_kᵀ z − log(1 + k) ,
//
// so that class k, from 0, is about 1/(1 + k) as frequent as the first (Zipf's law), and
// most classes of a thousand have a few rows among ten thousand.
func NewLongTail(s Settings, rng *rand.Rand) *Problem {
	g := NewProximity(s, rng)
	g.weights.Scale(3, g.weights)
	g.offset = make([]float64, g.Classes)
	for k := range g.offset {
		g.offset[k] = -math.Log1p(float64(k))
	}
	return g
}

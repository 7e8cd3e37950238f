package synthetic

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"

	"calibra/data"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Settings is the size of a synthetic problem.
type Settings struct {
	Features int     // M; 0 means 16
	Classes  int     // C; 0 means 4
	Regions  int     // components of the density of Proximity; 0 means 6
	Strength float64 // of the miscalibration; 0 means 1
}

func (s *Settings) defaults() {
	s.Features, s.Classes = cmp.Or(s.Features, 16), cmp.Or(s.Classes, 4)
	s.Regions, s.Strength = cmp.Or(s.Regions, 6), cmp.Or(s.Strength, 1)
	if s.Features < 1 || s.Classes < 2 || s.Regions < 1 {
		panic(fmt.Sprintf("synthetic: problem of %d features, %d classes, %d regions", s.Features, s.Classes, s.Regions))
	}
}

// Problem is a problem whose true posterior is known, so that the error of a
// calibrator can be measured against the truth and not against labels. The
// posterior of a row z is softmax(u), u = W z; the classifier reports other
// logits.
type Problem struct {
	Settings
	weights *mat.Dense // C×M
	offset  []float64  // C, added to W z; nil: 0
	// draw returns the region of a new row, which it writes to z.
	draw func(z []float64, rng *rand.Rand) int
	// warp writes the classifier's logits for z, in that region, in place of u.
	warp func(u, z []float64, region int)
}

// NewCubic is a classifier that is miscalibrated alike everywhere: z ~ N(0, I) and
// logits u + s u³/4, entry by entry, s the Strength. It is overconfident, the
// more so the surer it is, in a way that no temperature undoes.
func NewCubic(s Settings, rng *rand.Rand) *Problem {
	g := newSynthetic(s, rng)
	g.draw = func(z []float64, rng *rand.Rand) int {
		for j := range z {
			z[j] = rng.NormFloat64()
		}
		return 0
	}
	g.warp = func(u, _ []float64, _ int) {
		for k, v := range u {
			u[k] = v + g.Strength*v*v*v/4
		}
	}
	return g
}

// NewProximity is a classifier with proximity bias (Xiong et al. 2023): z comes
// from Regions Gaussians of unit covariance with weights 1, ½, ¼, … and centres
// from N(0, 4 I), and the logits are
//
//	(1 + s r) u + s r b_region,   r = (1/M)·log( f(μ₁) / f(z) ), not below 0,
//
// with s the Strength, f the density, μ₁ the centre of the heaviest region and b a
// shift of the region's own, from N(0, I): right where data are dense and, as
// they thin out, overconfident and drawn to classes that differ from region to
// region.
func NewProximity(s Settings, rng *rand.Rand) *Problem {
	g, r := newRegions(s, rng)
	s = g.Settings
	peak := r.logDensity(r.centres.RawRowView(0))
	g.warp = func(u, z []float64, region int) {
		thin := max((peak-r.logDensity(z))/float64(s.Features), 0)
		for k, b := range r.shifts.RawRowView(region) {
			u[k] = (1+s.Strength*thin)*u[k] + s.Strength*thin*b
		}
	}
	return g
}

// newSynthetic draws W with entries from N(0, 4/M), so that u ~ N(0, 4) for
// z ~ N(0, I).
func newSynthetic(s Settings, rng *rand.Rand) *Problem {
	s.defaults()
	return &Problem{Settings: s, weights: normal(s.Classes, s.Features, 2/math.Sqrt(float64(s.Features)), rng)}
}

// regions are Gaussians of unit covariance.
type regions struct {
	centres *mat.Dense // regions×M
	shifts  *mat.Dense // regions×C, of the logits
	weight  []float64  // 1, ½, ¼, …, of sum 1
}

// newRegions is a problem whose rows come from regions, with centres from N(0, 4 I) and shifts from N(0, I).
func newRegions(s Settings, rng *rand.Rand) (*Problem, regions) {
	g := newSynthetic(s, rng)
	r := regions{centres: normal(g.Regions, g.Features, 2, rng), shifts: normal(g.Regions, g.Classes, 1, rng), weight: make([]float64, g.Regions)}
	for k := range r.weight {
		r.weight[k] = math.Exp2(-float64(k))
	}
	floats.Scale(1/floats.Sum(r.weight), r.weight)
	g.draw = func(z []float64, rng *rand.Rand) int {
		region := categorical(r.weight, rng)
		for j, c := range r.centres.RawRowView(region) {
			z[j] = c + rng.NormFloat64()
		}
		return region
	}
	return g, r
}

// logDensity is log f(z), up to the constant of the Gaussian.
func (r regions) logDensity(z []float64) float64 {
	terms := make([]float64, len(r.weight))
	for k := range terms {
		d := floats.Distance(z, r.centres.RawRowView(k), 2)
		terms[k] = math.Log(r.weight[k]) - d*d/2
	}
	return floats.LogSumExp(terms)
}

// Draw is n new rows, labels drawn from the true posterior, and that posterior,
// n×C.
func (g *Problem) Draw(n int, rng *rand.Rand) (set *data.Set, posterior *mat.Dense) {
	features := mat.NewDense(n, g.Features, nil)
	set = &data.Set{
		Features: features,
		Logits:   mat.NewDense(n, g.Classes, nil),
		Labels:   make([]int, n),
	}
	posterior = mat.NewDense(n, g.Classes, nil)
	for i := range n {
		z, u, p := features.RawRowView(i), set.Logits.RawRowView(i), posterior.RawRowView(i)
		region := g.draw(z, rng)
		for k := range u {
			u[k] = floats.Dot(g.weights.RawRowView(k), z)
		}
		if g.offset != nil {
			floats.Add(u, g.offset)
		}
		logSum := floats.LogSumExp(u)
		for k := range p {
			p[k] = math.Exp(u[k] - logSum)
		}
		set.Labels[i] = categorical(p, rng)
		g.warp(u, z, region)
	}
	return set, posterior
}

// categorical draws an index with the given probabilities.
func categorical(p []float64, rng *rand.Rand) int {
	x := rng.Float64()
	for k, v := range p {
		if x -= v; x < 0 {
			return k
		}
	}
	return len(p) - 1 // the probabilities sum to 1 less a rounding
}

// normal is r×c draws from N(0, sd²).
func normal(r, c int, sd float64, rng *rand.Rand) *mat.Dense {
	m := mat.NewDense(r, c, nil)
	m.Apply(func(_, _ int, _ float64) float64 { return sd * rng.NormFloat64() }, m)
	return m
}

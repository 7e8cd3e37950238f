package theory

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"
)

// newRand returns the generator of one unit of work, named by the study's seed and
// a path of indices, so that a result never depends on which core did the work.
func newRand(seed uint64, path ...uint64) *rand.Rand {
	state := mix(seed + 0x9e3779b97f4a7c15)
	for _, index := range path {
		state = mix(state ^ mix(index+0xd1b54a32d192ed03))
	}
	return rand.New(rand.NewPCG(state, mix(state)))
}

// mix is the finalizer of SplitMix64 (Steele, Lea & Flood, 2014).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// drawMultinomial fills counts with one Multinomial(n, prob) draw by successive
// conditional binomials. Its cost does not depend on n. Σ prob need not be 1.
func drawMultinomial(counts, prob []float64, n int, rng *rand.Rand) {
	var rest float64
	for _, p := range prob {
		rest += p
	}
	left := float64(n)
	for i, p := range prob {
		switch {
		case left == 0 || p == 0:
			counts[i] = 0
		case p >= rest:
			counts[i] = left
		default:
			counts[i] = distuv.Binomial{N: left, P: p / rest, Src: rng}.Rand()
		}
		left -= counts[i]
		rest -= p
	}
	if left > 0 { // rounding in rest left the last categories short
		last := len(prob) - 1
		for prob[last] == 0 {
			last--
		}
		counts[last] += left
	}
}

// drawDirichlet fills p with a Dir(concentration) draw, no entry below floor.
func drawDirichlet(p []float64, concentration, floor float64, rng *rand.Rand) {
	gamma := distuv.Gamma{Alpha: concentration, Beta: 1, Src: rng}
	var total float64
	for i := range p {
		p[i] = gamma.Rand()
		total += p[i]
	}
	var clamped float64
	for i := range p {
		p[i] = math.Max(p[i]/total, floor)
		clamped += p[i]
	}
	for i := range p {
		p[i] /= clamped
	}
}

// drawLogDirichlet fills logp with the logarithm of a Dir(α) draw. It stays finite for any α > 0,
// where the draw itself is 0 in float64, or 0/0:
//
//	G_a = G_{a+1} U^(1/a) ,   log p_i = log G_{α_i} − log Σ_l G_{α_l}
//
// with G_a gamma and U uniform (Marsaglia and Tsang 2000, section 6).
func drawLogDirichlet(logp, alpha []float64, rng *rand.Rand) {
	for i, a := range alpha {
		gamma := distuv.Gamma{Alpha: a + 1, Beta: 1, Src: rng}
		logp[i] = math.Log(gamma.Rand()) + math.Log(1-rng.Float64())/a
	}
	floats.AddConst(-floats.LogSumExp(logp), logp)
}

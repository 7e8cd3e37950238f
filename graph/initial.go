package graph

import "math/rand/v2"

// Normals draws n initial values for [Weights.Add] from N(mean, sd²).
func Normals(n int, mean, sd float64, rng *rand.Rand) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = mean + sd*rng.NormFloat64()
	}
	return x
}

// Uniforms draws n initial values for [Weights.Add] from U(−bound, bound).
func Uniforms(n int, bound float64, rng *rand.Rand) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = bound * (2*rng.Float64() - 1)
	}
	return x
}

package simd

import (
	"math"

	"calibra/graph/simd/internal/minimax"
)

// GaussianRow turns row, the products z_i·z_j of one vector z_i with many z_j, into
// kernel values in place:
//
//	K_ij = exp(−max(0, |z_i|² + |z_j|² − 2·z_i·z_j)/(2γ²))
//
// sq holds |z_j|², si is |z_i|², gamma the bandwidth γ > 0. Values below the
// smallest normal float32, 1.2e-38, are 0. It panics if the lengths differ.
func GaussianRow(row, sq []float32, si, gamma float32) {
	sameLength("GaussianRow", len(row), len(sq))
	gaussianRowKernel(row, sq, si, gaussianScale(gamma))
}

// GaussianMoments returns Σ_j K_ij, Σ_j K_ij² and Σ_j K_ij·e_j for the kernel
// values of GaussianRow without writing them; row keeps the products. The sums are
// float32, so rows longer than a few thousand are better taken in pieces and added
// in float64. It panics if the lengths differ.
func GaussianMoments(row, sq, e []float32, si, gamma float32) (sum, squares, dot float32) {
	sameLength("GaussianMoments", len(row), len(sq), len(e))
	return gaussianMomentsKernel(row, sq, e, si, gaussianScale(gamma))
}

// gaussianScale returns −1/(2γ²).
func gaussianScale(gamma float32) float32 { return -1 / (2 * gamma * gamma) }

func gaussianRowPortable(row, sq []float32, si, scale float32) {
	for j, product := range row {
		row[j] = gaussian(product, sq[j], si, scale)
	}
}

func gaussianMomentsPortable(row, sq, e []float32, si, scale float32) (sum, squares, dot float32) {
	var s, q, d float64
	for j, product := range row {
		v := float64(gaussian(product, sq[j], si, scale))
		s += v
		q += v * v
		d += v * float64(e[j])
	}
	return float32(s), float32(q), float32(d)
}

func gaussian(product, sq, si, scale float32) float32 {
	d := float64(si) + float64(sq) - 2*float64(product)
	x := float64(scale) * math.Max(0, d)
	if x < minimax.GaussianLowest {
		return 0
	}
	return float32(exp(x))
}

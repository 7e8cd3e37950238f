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
	if k := sets[isa].gaussianRow; k != nil && len(row) > 0 {
		k(&row[0], &sq[0], len(row), si, gaussianScale(gamma))
	} else {
		gaussianRowPortable(row, sq, si, gaussianScale(gamma))
	}
}

// gaussianScale returns −1/(2γ²).
func gaussianScale(gamma float32) float32 { return -1 / (2 * gamma * gamma) }

func gaussianRowPortable(row, sq []float32, si, scale float32) {
	for j, product := range row {
		row[j] = gaussian(product, sq[j], si, scale)
	}
}

func gaussian(product, sq, si, scale float32) float32 {
	d := float64(si) + float64(sq) - 2*float64(product)
	x := float64(scale) * math.Max(0, d)
	if x < minimax.GaussianLowest {
		return 0
	}
	return float32(exp(x))
}

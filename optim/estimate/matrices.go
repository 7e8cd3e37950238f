package estimate

import (
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Spectrum is the eigenvalues of a finite symmetric matrix in increasing order, and its eigenvectors as columns. It
// panics where they do not converge.
func Spectrum(h *mat.SymDense) (values []float64, vectors *mat.Dense) {
	var eigen mat.EigenSym
	if !eigen.Factorize(h, true) {
		panic("estimate: the eigenvalues of a finite symmetric matrix did not converge")
	}
	vectors = new(mat.Dense)
	eigen.VectorsTo(vectors)
	return eigen.Values(nil), vectors
}

// Symmetric is (m + mᵀ)/2.
func Symmetric(m mat.Matrix) *mat.SymDense {
	n, _ := m.Dims()
	s := mat.NewSymDense(n, nil)
	for i := range n {
		for j := i; j < n; j++ {
			s.SetSym(i, j, (m.At(i, j)+m.At(j, i))/2)
		}
	}
	return s
}

// Congruence is basisᵀ m basis.
func Congruence(m, basis mat.Matrix) *mat.SymDense {
	var half, full mat.Dense
	half.Mul(basis.T(), m)
	full.Mul(&half, basis)
	return Symmetric(&full)
}

// AddProjector adds Σ v vᵀ to h.
func AddProjector(h *mat.SymDense, directions [][]float64) {
	for _, v := range directions {
		h.SymRankOne(h, 1, mat.NewVecDense(len(v), v))
	}
}

// ProjectOff takes from x its part along orthonormal directions.
func ProjectOff(x []float64, directions [][]float64) {
	for _, v := range directions {
		floats.AddScaled(x, -floats.Dot(v, x), v)
	}
}

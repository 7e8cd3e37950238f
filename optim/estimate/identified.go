package estimate

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// NullSpace is an orthonormal basis of the null space of a positive semidefinite matrix with a diagonal of ones
// ([UnitDiagonal]): of weights whose curvature, less what those before explain of it, is below a part of it. It is by
// Cholesky factorization with pivots: PᵀFP = UᵀU, U = (U₁ U₂; 0 0), the null space is that of (−U₁⁻¹U₂; I).
func NullSpace(F *mat.SymDense, part float64) (basis [][]float64) {
	n := F.SymmetricDim()
	var cholesky mat.PivotedCholesky
	if cholesky.Factorize(F, part) {
		return nil
	}
	rank, pivots := cholesky.Rank(), cholesky.ColumnPivots(nil)
	var upper mat.TriDense
	cholesky.UTo(&upper)
	raw := upper.RawTriangular()
	raw.N = rank
	for k := rank; k < n; k++ {
		v, head := make([]float64, n), make([]float64, rank)
		v[pivots[k]] = 1
		for i := range head {
			head[i] = -upper.At(i, k)
		}
		if rank > 0 {
			blas64.Trsv(blas.NoTrans, raw, blas64.Vector{N: rank, Inc: 1, Data: head})
		}
		for i, h := range head {
			v[pivots[i]] = h
		}
		basis = append(basis, v)
	}
	Orthonormalize(basis)
	return basis
}

// Orthonormalize makes vectors an orthonormal basis of what they span.
func Orthonormalize(basis [][]float64) {
	for i, v := range basis {
		for range 2 { // Gram–Schmidt twice is orthogonal to rounding
			floats.Scale(1/floats.Norm(v, 2), v)
			ProjectOff(v, basis[:i])
		}
		floats.Scale(1/floats.Norm(v, 2), v)
	}
}

// UnitDiagonal is S F S with a diagonal of ones, and S (1 where F has a 0): what units the weights have makes no
// difference to its condition.
func UnitDiagonal(F *mat.SymDense) (scaled *mat.SymDense, scale []float64) {
	n := F.SymmetricDim()
	scaled, scale = mat.NewSymDense(n, nil), make([]float64, n)
	for i := range scale {
		scale[i] = 1
		if v := F.At(i, i); v > 0 {
			scale[i] = 1 / math.Sqrt(v)
		}
	}
	for i := range n {
		for j := i; j < n; j++ {
			scaled.SetSym(i, j, F.At(i, j)*scale[i]*scale[j])
		}
	}
	return scaled, scale
}

// InverseOff is (H + VVᵀ)⁻¹ − VVᵀ of orthonormal directions V: the inverse of H off its null space V. It is nil where
// H + VVᵀ is not positive definite, or has a condition above the largest.
func InverseOff(h *mat.SymDense, directions [][]float64, largest float64) *mat.SymDense {
	n := h.SymmetricDim()
	full := mat.NewSymDense(n, nil)
	full.CopySym(h)
	AddProjector(full, directions)
	var cholesky mat.Cholesky
	if !cholesky.Factorize(full) || cholesky.Cond() > largest {
		return nil
	}
	inverse := mat.NewSymDense(n, nil)
	if cholesky.InverseTo(inverse) != nil {
		return nil
	}
	for _, v := range directions {
		inverse.SymRankOne(inverse, -1, mat.NewVecDense(n, v))
	}
	return inverse
}

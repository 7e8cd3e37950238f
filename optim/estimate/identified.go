package estimate

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// identified is the part of a weight's curvature that must be left of it beside the other weights. Sums of squares
// leave 1e-15 of what is 0, differences of gradients 1e-11 of the largest curvature.
const identified = 1e-9

// NullSpace is what a positive semidefinite matrix of curvatures does not identify: of weights in units of curvature 1
// ([UnitDiagonal]) less than 1e-9 is left along it. It is an orthonormal basis, and another of the same directions in
// these units. It is by Cholesky factorization with pivots: PᵀSFSP = UᵀU, U = (U₁ U₂; 0 0), the null space is that of
// (−U₁⁻¹U₂; I).
func NullSpace(F *mat.SymDense) (basis, inUnits [][]float64) {
	n := F.SymmetricDim()
	var cholesky mat.PivotedCholesky
	scaled, scale := UnitDiagonal(F)
	if cholesky.Factorize(scaled, identified) {
		return nil, nil
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
		inUnits = append(inUnits, v)
	}
	orthonormalize(inUnits)
	for _, v := range inUnits {
		basis = append(basis, floats.MulTo(make([]float64, n), scale, v)) // F S v = S⁻¹ (S F S) v = 0
	}
	orthonormalize(basis)
	return basis, inUnits
}

// orthonormalize makes vectors an orthonormal basis of what they span.
func orthonormalize(basis [][]float64) {
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

// InverseOff is (h + VVᵀ)⁻¹ − VVᵀ of orthonormal directions V: the inverse of h off V where that is its null space. It
// is nil where h + VVᵀ is not positive definite, or has a condition above the largest.
func InverseOff(h *mat.SymDense, directions [][]float64, largest float64) *mat.SymDense {
	n := h.SymmetricDim()
	full, inverse := mat.NewSymDense(n, nil), mat.NewSymDense(n, nil)
	full.CopySym(h)
	AddProjector(full, directions)
	var cholesky mat.Cholesky
	if !cholesky.Factorize(full) || cholesky.Cond() > largest || cholesky.InverseTo(inverse) != nil {
		return nil
	}
	for _, v := range directions {
		inverse.SymRankOne(inverse, -1, mat.NewVecDense(n, v))
	}
	return inverse
}

// TakeOff takes a symmetric matrix to zero along orthonormal directions.
func TakeOff(m *mat.SymDense, directions [][]float64) {
	var mv mat.VecDense
	for _, direction := range directions {
		v := mat.NewVecDense(len(direction), direction)
		mv.MulVec(m, v)
		along := mat.Dot(v, &mv)
		// (I − vvᵀ) m (I − vvᵀ) = m − v(mv)ᵀ − (mv)vᵀ + (vᵀmv) vvᵀ.
		m.RankTwo(m, -1, v, &mv)
		m.SymRankOne(m, along, v)
	}
}

package studies

import (
	"math"
	"slices"

	"calibra/data"
	"calibra/optim/estimate"
	"calibra/theory/internal/numeric"

	"gonum.org/v1/gonum/mat"
)

// schurConstant returns the largest c with S_k ⪰ c H_kk (A6) on the block at the
// given coordinates, off its own gauge directions: S_k is the Schur complement
// H_kk − H_k,−k H⁺_−k,−k H_−k,k and both are restricted to the complement of off.
func schurConstant(h mat.Symmetric, block []int, off [][]float64, rest [][]float64) float64 {
	n := h.SymmetricDim()
	others := complement(n, block)
	restInverse := numeric.QuotientInverse(estimate.Symmetric(dense(h, others, others)), restrict(rest, others))
	if restInverse == nil {
		return math.NaN()
	}
	own := dense(h, block, block)
	cross := dense(h, block, others)
	var half, schur mat.Dense
	half.Mul(cross, restInverse)
	schur.Mul(&half, cross.T())
	schur.Sub(own, &schur)

	basis := orthogonalComplement(len(block), restrict(off, block))
	s, o := estimate.Congruence(&schur, basis), estimate.Congruence(own, basis)
	// c is the smallest eigenvalue of L⁻¹ S L⁻ᵀ, H_kk = L Lᵀ.
	var cholesky mat.Cholesky
	if !cholesky.Factorize(o) {
		return math.NaN()
	}
	var lower mat.TriDense
	cholesky.LTo(&lower)
	var left, whitened mat.Dense
	if left.Solve(&lower, s) != nil || whitened.Solve(&lower, left.T()) != nil {
		return math.NaN()
	}
	values, _ := estimate.Spectrum(estimate.Symmetric(&whitened))
	return values[0]
}

// dense returns the rows and columns of m that are named.
func dense(m mat.Matrix, rows, cols []int) *mat.Dense {
	out := mat.NewDense(len(rows), len(cols), nil)
	for i, row := range rows {
		for j, col := range cols {
			out.Set(i, j, m.At(row, col))
		}
	}
	return out
}

func complement(n int, block []int) []int {
	return slices.DeleteFunc(data.UpTo(n), func(i int) bool { return slices.Contains(block, i) })
}

// restrict keeps the coordinates of directions that live on them and drops the rest.
func restrict(directions [][]float64, at []int) [][]float64 {
	var kept [][]float64
	for _, v := range directions {
		part := make([]float64, len(at))
		var norm float64
		for i, p := range at {
			part[i] = v[p]
			norm += v[p] * v[p]
		}
		if norm > 0.5 { // orthonormal gauge directions lie in one block each
			kept = append(kept, part)
		}
	}
	return kept
}

// orthogonalComplement returns an n×m basis of the complement of the directions.
func orthogonalComplement(n int, directions [][]float64) *mat.Dense {
	projector := mat.NewSymDense(n, nil)
	estimate.AddProjector(projector, directions)
	_, vectors := estimate.Spectrum(projector) // eigenvalues 0 first, then 1
	return mat.DenseCopyOf(vectors.Slice(0, n, 0, n-len(directions)))
}

func spectralNorm(m *mat.Dense) float64 {
	var svd mat.SVD
	if !svd.Factorize(m, mat.SVDNone) {
		return math.NaN()
	}
	return svd.Values(nil)[0]
}

package theory

import (
	"math"
	"slices"

	"calibra/data"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// spectrum returns the eigenvalues of h in increasing order and its eigenvectors.
func spectrum(h *mat.SymDense) (values []float64, vectors *mat.Dense) {
	var eigen mat.EigenSym
	if !eigen.Factorize(h, true) {
		panic("theory: the eigenvalues of a finite symmetric matrix did not converge")
	}
	vectors = new(mat.Dense)
	eigen.VectorsTo(vectors)
	return eigen.Values(nil), vectors
}

// addProjector adds Σ v vᵀ to h.
func addProjector(h *mat.SymDense, directions [][]float64) {
	for _, v := range directions {
		h.SymRankOne(h, 1, mat.NewVecDense(len(v), v))
	}
}

// projectOff removes from x its part along the orthonormal directions.
func projectOff(x []float64, directions [][]float64) {
	for _, v := range directions {
		floats.AddScaled(x, -floats.Dot(v, x), v)
	}
}

// product is m·v.
func product(m mat.Matrix, v []float64) []float64 {
	var x mat.VecDense
	x.MulVec(m, mat.NewVecDense(len(v), v))
	return x.RawVector().Data
}

// quotientInverse returns (h + VVᵀ)⁻¹ − VVᵀ, or nil when h + VVᵀ is not positive definite.
func quotientInverse(h *mat.SymDense, directions [][]float64) *mat.SymDense {
	n := h.SymmetricDim()
	full := mat.NewSymDense(n, nil)
	full.CopySym(h)
	addProjector(full, directions)
	var cholesky mat.Cholesky
	if !cholesky.Factorize(full) || cholesky.Cond() > 1/nullRatio {
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

// congruence returns basisᵀ m basis.
func congruence(m, basis mat.Matrix) *mat.SymDense {
	var half, full mat.Dense
	half.Mul(basis.T(), m)
	full.Mul(&half, basis)
	return symmetric(&full)
}

func symmetric(m mat.Matrix) *mat.SymDense {
	n, _ := m.Dims()
	s := mat.NewSymDense(n, nil)
	for i := range n {
		for j := i; j < n; j++ {
			s.SetSym(i, j, (m.At(i, j)+m.At(j, i))/2)
		}
	}
	return s
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
	addProjector(projector, directions)
	_, vectors := spectrum(projector) // eigenvalues 0 first, then 1
	return mat.DenseCopyOf(vectors.Slice(0, n, 0, n-len(directions)))
}

// subtract sets m to m − other.
func subtract(m, other *mat.SymDense) {
	for i := range m.SymmetricDim() {
		for j := i; j < m.SymmetricDim(); j++ {
			m.SetSym(i, j, m.At(i, j)-other.At(i, j))
		}
	}
}

func operatorNorm(m *mat.SymDense) float64 {
	values, _ := spectrum(m)
	return math.Max(math.Abs(values[0]), math.Abs(values[len(values)-1]))
}

func spectralNorm(m *mat.Dense) float64 {
	var svd mat.SVD
	if !svd.Factorize(m, mat.SVDNone) {
		return math.NaN()
	}
	return svd.Values(nil)[0]
}

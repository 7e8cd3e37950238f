package theory

import (
	"math"
	"slices"

	"calibra/data"
	"calibra/optim/estimate"

	"gonum.org/v1/gonum/mat"
)

// product is m·v.
func product(m mat.Matrix, v []float64) []float64 {
	var x mat.VecDense
	x.MulVec(m, mat.NewVecDense(len(v), v))
	return x.RawVector().Data
}

// largestCondition is that of an inverse.
const largestCondition = 3e10

// quotientInverse is the inverse of h off the directions, nil where it has none.
func quotientInverse(h *mat.SymDense, directions [][]float64) *mat.SymDense {
	return estimate.InverseOff(h, directions, largestCondition)
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

// subtract sets m to m − other.
func subtract(m, other *mat.SymDense) {
	for i := range m.SymmetricDim() {
		for j := i; j < m.SymmetricDim(); j++ {
			m.SetSym(i, j, m.At(i, j)-other.At(i, j))
		}
	}
}

func operatorNorm(m *mat.SymDense) float64 {
	values, _ := estimate.Spectrum(m)
	return math.Max(math.Abs(values[0]), math.Abs(values[len(values)-1]))
}

func spectralNorm(m *mat.Dense) float64 {
	var svd mat.SVD
	if !svd.Factorize(m, mat.SVDNone) {
		return math.NaN()
	}
	return svd.Values(nil)[0]
}

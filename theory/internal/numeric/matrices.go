package numeric

import (
	"math"

	"calibra/optim/estimate"

	"gonum.org/v1/gonum/mat"
)

// Product is m·v.
func Product(m mat.Matrix, v []float64) []float64 {
	var x mat.VecDense
	x.MulVec(m, mat.NewVecDense(len(v), v))
	return x.RawVector().Data
}

// largestCondition is that of an inverse.
const largestCondition = 3e10

// QuotientInverse is the inverse of h off the directions, nil where it has none.
func QuotientInverse(h *mat.SymDense, directions [][]float64) *mat.SymDense {
	return estimate.InverseOff(h, directions, largestCondition)
}

// Subtract sets m to m − other.
func Subtract(m, other *mat.SymDense) {
	for i := range m.SymmetricDim() {
		for j := i; j < m.SymmetricDim(); j++ {
			m.SetSym(i, j, m.At(i, j)-other.At(i, j))
		}
	}
}

func OperatorNorm(m *mat.SymDense) float64 {
	values, _ := estimate.Spectrum(m)
	return math.Max(math.Abs(values[0]), math.Abs(values[len(values)-1]))
}

// PredictedError returns √(tr(D C Dᵀ)/N): the root mean squared error of a function
// of θ with Jacobian D whose estimator has covariance C/N.
func PredictedError(jacobian mat.Matrix, covariance mat.Symmetric, n int) float64 {
	return math.Sqrt(estimate.Congruence(covariance, jacobian.T()).Trace() / float64(n))
}

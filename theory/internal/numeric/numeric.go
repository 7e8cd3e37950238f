// Package numeric has the sums and matrices that the engine of the theory and its studies compute alike.
package numeric

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"calibra/data"
	"calibra/optim/estimate"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// Slope is the least-squares slope of y on x with one intercept per group
// (the within-group, or fixed-effects, estimator). One group is a plain regression.
func Slope(x, y []float64, group []int) float64 {
	var sumX, sumY, count []float64
	for i, g := range group {
		for len(count) <= g {
			sumX, sumY, count = append(sumX, 0), append(sumY, 0), append(count, 0)
		}
		sumX[g] += x[i]
		sumY[g] += y[i]
		count[g]++
	}
	var xy, xx float64
	for i, g := range group {
		dx := x[i] - sumX[g]/count[g]
		xy += dx * (y[i] - sumY[g]/count[g])
		xx += dx * dx
	}
	return xy / xx
}

// Points are pairs of positive numbers, in groups, log on log.
type Points struct {
	LogX, LogY []float64
	Group      []int
}

func (p *Points) Add(x, y float64, group int) {
	p.LogX, p.LogY, p.Group = append(p.LogX, math.Log(x)), append(p.LogY, math.Log(y)), append(p.Group, group)
}

// Slope is that of their lines, with one intercept for each group.
func (p *Points) Slope() float64 { return Slope(p.LogX, p.LogY, p.Group) }

// Line is the least-squares slope of y on x.
func Line(x, y []float64) float64 { return Slope(x, y, make([]int, len(y))) }

// RMS is the root mean square of values at the given indices; NaN marks a replicate
// that does not count.
func RMS(values []float64, at []int) float64 {
	var sum, count float64
	for _, r := range at {
		if !math.IsNaN(values[r]) {
			sum += values[r] * values[r]
			count++
		}
	}
	return math.Sqrt(sum / count)
}

func Logs(values []float64) []float64 { return data.Each(values, math.Log) }

func Exps(values []float64) {
	for i, v := range values {
		values[i] = math.Exp(v)
	}
}

func Mean(values []float64) float64 { return stat.Mean(values, nil) }

func Square(x float64) float64 { return x * x }

// Valid are the values that are numbers.
func Valid(values []float64) []float64 { return slices.DeleteFunc(slices.Clone(values), math.IsNaN) }

// Normals are n draws of N(0, 1).
func Normals(n int, rng *rand.Rand) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	return x
}

// Softplus is ln(1+eˣ).
func Softplus(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

// Unmeasured is a grid of NaN.
func Unmeasured(n, m int) [][]float64 {
	return data.Each(data.UpTo(n), func(int) []float64 { return slices.Repeat([]float64{math.NaN()}, m) })
}

// Short prints a number with four significant digits.
func Short(x float64) string { return strconv.FormatFloat(x, 'g', 4, 64) }

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

package baselines

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"calibra/graph"
	"calibra/layers"
	"calibra/optim/estimate"

	gonum "gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"
)

// whitening is x̃ = (x − m)R with RRᵀ = Cov(x)⁻¹, and its inverse.
type whitening struct {
	mean    []float64  // m
	forward *mat.Dense // R
	inverse *mat.Dense // R⁻¹
}

// whiten finds R = L⁻ᵀ from the Cholesky factor of the covariance, LLᵀ, to whose
// diagonal 1e-8 of its largest entry is added lest it be singular.
func whiten(x *mat.Dense) (whitening, error) {
	n, c := x.Dims()
	w := whitening{mean: make([]float64, c)}
	centred := mat.DenseCopyOf(x)
	for _, row := range rowsOf(x) {
		floats.AddScaled(w.mean, 1/float64(n), row)
	}
	for _, row := range rowsOf(centred) {
		floats.Sub(row, w.mean)
	}
	var covariance mat.SymDense
	if c <= fewColumns {
		covariance.SymOuterK(1/float64(n), centred.T())
	} else {
		covariance = *gram(centred, 1/float64(n))
	}
	largest := 0.0
	for k := range c {
		largest = max(largest, covariance.At(k, k))
	}
	for k := range c {
		covariance.SetSym(k, k, covariance.At(k, k)+max(1e-8*largest, 1e-12))
	}
	var factor mat.Cholesky
	if !factor.Factorize(&covariance) {
		return w, errors.New("the covariance of the log-probabilities cannot be factorized")
	}
	var upper, inverse mat.TriDense
	factor.UTo(&upper) // Lᵀ
	if err := inverse.InverseTri(&upper); err != nil {
		return w, fmt.Errorf("the covariance of the log-probabilities cannot be inverted: %w", err)
	}
	w.forward, w.inverse = mat.DenseCopyOf(&inverse), mat.DenseCopyOf(&upper)
	return w, nil
}

// fewColumns are those of which SymOuterK takes the covariance.
const fewColumns = 236

// gram is factor·XᵀX, by the BLAS of package blas: SymOuterK takes minutes of many rows of a
// thousand columns.
func gram(x *mat.Dense, factor float64) *mat.SymDense {
	var square mat.Dense
	product(&square, x, x, gonum.Trans)
	c := square.RawMatrix().Cols
	out := mat.NewSymDense(c, nil)
	for k := range c {
		for l := k; l < c; l++ {
			out.SetSym(k, l, factor*square.At(k, l))
		}
	}
	return out
}

// principal has the principal axes of x for axes, in which RᵀR, the inverse of the variances
// along them, is diagonal.
func (w whitening) principal() whitening {
	c := len(w.mean)
	variances, axes := estimate.Spectrum(gram(w.inverse, 1)) // of LLᵀ
	out := whitening{w.mean, mat.NewDense(c, c, nil), mat.NewDense(c, c, nil)}
	least := 1e-9 * variances[c-1] // below what whiten added
	for k, v := range variances {
		sd := math.Sqrt(max(v, least))
		for i := range c {
			out.forward.Set(i, k, axes.At(i, k)/sd)
			out.inverse.Set(k, i, axes.At(i, k)*sd)
		}
	}
	return out
}

// apply whitens x in place.
func (w whitening) apply(x *mat.Dense) {
	for _, row := range rowsOf(x) {
		floats.Sub(row, w.mean)
	}
	centred := mat.DenseCopyOf(x)
	x.Mul(centred, w.forward)
}

// start is the identity as a linear map of x̃: W̃ = R⁻¹ and b̃ = m.
func (w whitening) start() *graph.Weights {
	of, c := graph.NewWeights(tensor.Float64), len(w.mean)
	of.Add("dirichlet/weight", slices.Clone(w.inverse.RawMatrix().Data), c, c)
	of.Add("dirichlet/bias", slices.Clone(w.mean), c)
	return of
}

// undo turns the W̃ and b̃ of a linear map of x̃ into those of the same map of x,
// W = RW̃ and b = b̃ − mW.
func (w whitening) undo(of *graph.Weights) {
	b := of.Tensor("dirichlet/bias").Float64s()
	c := len(b)
	weight, bias := mat.NewDense(c, c, of.Tensor("dirichlet/weight").Float64s()), mat.NewVecDense(c, b)
	weight.Mul(w.forward, mat.DenseCopyOf(weight))
	var shift mat.VecDense
	shift.MulVec(weight.T(), mat.NewVecDense(c, w.mean))
	bias.SubVec(bias, &shift)
}

// whitenedMap is dirichletMap of whitened inputs.
type whitenedMap struct {
	dirichletMap
	whitening
}

func (m whitenedMap) Inputs(v *layers.View, _ *graph.Weights) (map[string]mat.Matrix, error) {
	l := floored(v.LogProbs)
	m.apply(l)
	return map[string]mat.Matrix{"floored": l}, nil
}

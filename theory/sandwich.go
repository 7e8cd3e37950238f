package theory

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// population is one law of (cell, atom, label), with the parameters that fit it best and what the theory
// says of an estimator there: with V the orthonormal gauge directions,
//
//	H⁺ = (H + VVᵀ)⁻¹ − VVᵀ,  S = H⁺ J H⁺,  √N (θ̂ − θ*) → N(0, S) off the gauge.
type population struct {
	weights    []float64 // cells × R × C
	occupancy  []float64 // E[n_k] per row
	theta      []float64 // θ*
	directions [][]float64
	hessian    *mat.SymDense // H
	scores     *mat.SymDense // J
	naive      *mat.SymDense // H⁺
	covariance *mat.SymDense // S
	precision  *mat.SymDense // S⁺ = H J⁺ H; nil where J is singular off V, as under a ridge
	null       float64       // ‖H V‖_max, zero when the gauge is one of H

	// pred_k = √(tr[(D S Dᵀ)_kk]/N) of each block of a target at N = 1, and the same from H⁺ in place of S.
	predicted, naively []float64
}

// errNotIdentified says that a population cannot identify its parameters.
var errNotIdentified = errors.New("theory: the population Hessian is not positive definite off the gauge: give more atoms or cells, or fewer codewords")

// populationAt is the truth under the given probabilities of the cells, with H, J and S of a model at theta.
// They are those by hand where the loss of the model is known by hand; study rate holds the graph's to them.
func (t *Truth) populationAt(theta, law []float64, model Model, gauge Gauge) (population, error) {
	n, model := model.Dim(), cheapest(model)
	p := population{
		weights: t.Weights(law), occupancy: t.Table.Occupancy(law), theta: slices.Clone(theta),
		directions: gauge.Directions(theta), hessian: mat.NewSymDense(n, nil), scores: mat.NewSymDense(n, nil),
	}
	err := cmp.Or(model.Hessian(p.hessian, theta, p.weights), model.Scores(p.scores, theta, p.weights))
	if err != nil {
		return p, err
	}
	for _, v := range p.directions {
		var hv mat.VecDense
		hv.MulVec(p.hessian, mat.NewVecDense(n, v))
		p.null = math.Max(p.null, mat.Norm(&hv, math.Inf(1)))
	}
	if p.naive = quotientInverse(p.hessian, p.directions); p.naive == nil {
		return p, errNotIdentified
	}
	p.covariance = sandwichProduct(p.naive, p.scores)
	if inverse := quotientInverse(p.scores, p.directions); inverse != nil {
		p.precision = sandwichProduct(p.hessian, inverse)
	}
	return p, nil
}

// predict says how large the errors of a target's blocks are.
func (p *population) predict(target Target) {
	p.predicted, p.naively = nil, nil
	for k := range target.Blocks() {
		d := target.Jacobian(k, p.theta)
		p.predicted = append(p.predicted, predictedError(d, p.covariance, 1))
		p.naively = append(p.naively, predictedError(d, p.naive, 1))
	}
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

// sandwichProduct returns outer·inner·outer.
func sandwichProduct(outer, inner mat.Symmetric) *mat.SymDense {
	var left, product mat.Dense
	left.Mul(outer, inner)
	product.Mul(&left, outer)
	return symmetric(&product)
}

// wald returns N (θ̂ − θ*)ᵀ S⁺ (θ̂ − θ*), asymptotically χ² with Dim − len(V)
// degrees of freedom. theta must be at the representative nearest θ*. It is NaN where S⁺ does not exist.
func (p *population) wald(theta []float64, n int) float64 {
	if p.precision == nil {
		return math.NaN()
	}
	offset := make([]float64, len(theta))
	floats.SubTo(offset, theta, p.theta)
	projectOff(offset, p.directions)
	d := mat.NewVecDense(len(offset), offset)
	return float64(n) * mat.Inner(d, p.precision, d)
}

func (p *population) freedom() int { return len(p.theta) - len(p.directions) }

// predictedError returns √(tr(D C Dᵀ)/N): the root mean squared error of a function
// of θ with Jacobian D whose estimator has covariance C/N.
func predictedError(jacobian mat.Matrix, covariance mat.Symmetric, n int) float64 {
	var half, full mat.Dense
	half.Mul(jacobian, covariance)
	full.Mul(&half, jacobian.T())
	return math.Sqrt(full.Trace() / float64(n))
}

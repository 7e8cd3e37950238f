package theory

import (
	"errors"
	"math"
	"slices"

	"calibra/optim/estimate"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// population is one law of (cell, atom, label), with the parameters that fit it best and what the theory
// predicts for an estimator there: with V the orthonormal gauge directions,
//
//	H⁺ = (H + VVᵀ)⁻¹ − VVᵀ,  S = H⁺ J H⁺,  √N (θ̂ − θ*) → N(0, S) off the gauge.
type population struct {
	weights    []float64 // cells × R × C
	joint      []float64 // what samples are drawn by, where codes are misread (see Reading); nil: weights
	occupancy  []float64 // E[n_k] per row
	theta      []float64 // θ*
	directions [][]float64
	hessian    *mat.SymDense // H
	scores     *mat.SymDense // J
	naive      *mat.SymDense // H⁺
	covariance *mat.SymDense // S
	precision  *mat.SymDense // S⁺ = H J⁺ H; nil where J is singular off V, as under a ridge
	null       float64       // ‖H V‖_max, zero when the gauge is one of H
	gap        float64       // how far the loss of the next best minimum lies above, where that was searched

	// pred_k = √(tr[(D S Dᵀ)_kk]/N) of each block of a target at N = 1, and the same from H⁺ in place of S.
	predicted, naively []float64
}

// populationAt is the truth under the given probabilities of the cells, with H, J and S of a model at theta.
// They are those by hand where the loss of the model is known by hand; study rate holds the graph's to them.
func (t *Truth) populationAt(theta, law []float64, model Model, gauge Gauge) (population, error) {
	return populationOf(t.Weights(law), t.Table.Occupancy(law), theta, model, gauge)
}

// populationOf is the population of these weights, whose codewords occur so often.
func populationOf(weights, occupancy, theta []float64, model Model, gauge Gauge) (population, error) {
	at := &probe{model: model.cheapest(), weights: weights}
	p := population{
		weights: weights, occupancy: occupancy, theta: slices.Clone(theta),
		directions: gauge.Directions(theta), hessian: at.hessian(theta), scores: at.scores(theta),
	}
	if at.err != nil {
		return p, at.err
	}
	for _, v := range p.directions {
		p.null = math.Max(p.null, floats.Norm(product(p.hessian, v), math.Inf(1)))
	}
	if p.naive = quotientInverse(p.hessian, p.directions); p.naive == nil {
		return p, errors.New("theory: the population Hessian is not positive definite off the gauge: give more atoms or cells, or fewer codewords")
	}
	p.covariance = estimate.Congruence(p.scores, p.naive)
	if inverse := quotientInverse(p.scores, p.directions); inverse != nil {
		p.precision = estimate.Congruence(inverse, p.hessian)
	}
	return p, nil
}

// predict computes how large the errors of a target's blocks are.
func (p *population) predict(target Target) {
	p.predicted, p.naively = nil, nil
	for k := range target.Blocks() {
		d := target.Jacobian(k, p.theta)
		p.predicted = append(p.predicted, predictedError(d, p.covariance, 1))
		p.naively = append(p.naively, predictedError(d, p.naive, 1))
	}
}

// wald returns N (θ̂ − θ*)ᵀ S⁺ (θ̂ − θ*), asymptotically χ² with Dim − len(V)
// degrees of freedom. theta must be at the representative nearest θ*. It is NaN where S⁺ does not exist.
func (p *population) wald(theta []float64, n int) float64 {
	if p.precision == nil {
		return math.NaN()
	}
	offset := make([]float64, len(theta))
	floats.SubTo(offset, theta, p.theta)
	estimate.ProjectOff(offset, p.directions)
	d := mat.NewVecDense(len(offset), offset)
	return float64(n) * mat.Inner(d, p.precision, d)
}

func (p *population) freedom() int { return len(p.theta) - len(p.directions) }

// predictedError returns √(tr(D C Dᵀ)/N): the root mean squared error of a function
// of θ with Jacobian D whose estimator has covariance C/N.
func predictedError(jacobian mat.Matrix, covariance mat.Symmetric, n int) float64 {
	return math.Sqrt(estimate.Congruence(covariance, jacobian.T()).Trace() / float64(n))
}

// schurConstant returns the largest c with S_k ⪰ c H_kk (A6) on the block at the
// given coordinates, off its own gauge directions: S_k is the Schur complement
// H_kk − H_k,−k H⁺_−k,−k H_−k,k and both are restricted to the complement of off.
func schurConstant(h mat.Symmetric, block []int, off [][]float64, rest [][]float64) float64 {
	n := h.SymmetricDim()
	others := complement(n, block)
	restInverse := quotientInverse(estimate.Symmetric(dense(h, others, others)), restrict(rest, others))
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

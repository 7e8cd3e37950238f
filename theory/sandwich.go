package theory

import (
	"errors"
	"math"
	"slices"

	"calibra/optim/estimate"
	"calibra/theory/internal/numeric"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Limit is where an estimator goes under one law of (cell, atom, label), and how its errors are then: with V the
// orthonormal gauge directions,
//
//	H⁺ = (H + VVᵀ)⁻¹ − VVᵀ,  S = H⁺ J H⁺,  √N (θ̂ − θ*) → N(0, S) off the gauge.
type Limit struct {
	Weights    []float64     // of the population, P(cell, atom, label) as rows are read: cells × R × C
	joint      []float64     // what samples are drawn by, where codes are misread (see Reading); nil: weights
	Occupancy  []float64     // E[n_k] per row
	Theta      []float64     // θ*, the pseudo-true parameters
	Free       [][]float64   // V, which change no loss
	Hessian    *mat.SymDense // H
	Scores     *mat.SymDense // J
	Inverse    *mat.SymDense // H⁺
	Covariance *mat.SymDense // S, the sandwich
	Precision  *mat.SymDense // S⁺ = H J⁺ H; nil where J is singular off V, as under a ridge
	null       float64       // ‖H V‖_max, zero when the gauge is one of H

	// pred_k = √(tr[(D S Dᵀ)_kk]/N) of each block of a target at N = 1, and the same from H⁺ in place of S.
	Predicted, naively []float64
}

// Limit is where a model goes under the given probabilities of the cells, with H, J and S at theta.
func (t *Truth) Limit(model Model, gauge Gauge, theta, law []float64) (Limit, error) {
	p, err := NewLimit(model, gauge, theta, t.Weights(law))
	p.Occupancy = t.Table.Occupancy(law)
	return p, err
}

// NewLimit is the limit at theta of a model under the weights of a population: theta must be where [Fit] ends there.
// H and J are those by hand where the loss of the model is known by hand; study rate holds the graph's to them.
func NewLimit(model Model, gauge Gauge, theta, weights []float64) (Limit, error) {
	if model == nil || gauge == nil {
		return Limit{}, errNoModel
	}
	at := &Loss{Model: model.Cheapest(), Weights: weights}
	p := Limit{
		Weights: weights, Theta: slices.Clone(theta),
		Free: gauge.Directions(theta), Hessian: at.Hessian(theta), Scores: at.Scores(theta),
	}
	if at.Err != nil {
		return p, at.Err
	}
	for _, v := range p.Free {
		p.null = math.Max(p.null, floats.Norm(numeric.Product(p.Hessian, v), math.Inf(1)))
	}
	if p.Inverse = numeric.QuotientInverse(p.Hessian, p.Free); p.Inverse == nil {
		return p, errors.New("theory: the population Hessian is not positive definite off the gauge: give more atoms or cells, or fewer codewords")
	}
	p.vary()
	return p, nil
}

// vary is S and S⁺ by J.
func (p *Limit) vary() {
	p.Covariance, p.Precision = estimate.Congruence(p.Scores, p.Inverse), nil
	if inverse := numeric.QuotientInverse(p.Scores, p.Free); inverse != nil {
		p.Precision = estimate.Congruence(inverse, p.Hessian)
	}
}

// Predict computes how large the errors of a target's blocks are.
func (p *Limit) Predict(target Target) {
	p.Predicted, p.naively = nil, nil
	for k := range target.Blocks() {
		d := target.Jacobian(k, p.Theta)
		p.Predicted = append(p.Predicted, numeric.PredictedError(d, p.Covariance, 1))
		p.naively = append(p.naively, numeric.PredictedError(d, p.Inverse, 1))
	}
}

// Wald returns N (θ̂ − θ*)ᵀ S⁺ (θ̂ − θ*), asymptotically χ² with Dim − len(V)
// degrees of freedom. theta must be at the representative nearest θ*. It is NaN where S⁺ does not exist.
func (p *Limit) Wald(theta []float64, n int) float64 {
	if p.Precision == nil {
		return math.NaN()
	}
	offset := make([]float64, len(theta))
	floats.SubTo(offset, theta, p.Theta)
	estimate.ProjectOff(offset, p.Free)
	d := mat.NewVecDense(len(offset), offset)
	return float64(n) * mat.Inner(d, p.Precision, d)
}

// Freedom is how many directions are identified.
func (p *Limit) Freedom() int { return len(p.Theta) - len(p.Free) }

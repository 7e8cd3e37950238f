package layers

import (
	"math"
	"slices"

	"calibra/data"
	"calibra/graph/op"
	"calibra/graph/simd"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// gradients computes log q and the gradients in θ of one row after another.
type gradients struct {
	of                             *Sandwich
	mass                           []float64  // K
	present                        []int32    // the codewords with mass
	form, sigma, logGamma, digamma []float64  // C²: A then α, its derivative, ln Γ(α), ψ(α)
	prior                          []float64  // C, log π
	logq                           []float64  // C
	rows                           *mat.Dense // C×dim, ∂score_j/∂θ
	mean                           []float64
}

func newGradients(x *Sandwich) *gradients {
	C, K := x.sizes.Classes, x.sizes.Codewords
	s := &gradients{
		of: x, mass: make([]float64, K), form: make([]float64, C*C), sigma: make([]float64, C*C),
		logGamma: make([]float64, C*C), digamma: make([]float64, C*C),
		prior: slices.Clone(x.theta[2*K*C:]), logq: make([]float64, C),
		rows: mat.NewDense(C, x.learned, nil), mean: make([]float64, x.learned),
	}
	floats.AddConst(-floats.LogSumExp(s.prior), s.prior)
	return s
}

// counted is log p̂, 0 of a class that cannot be, as graphs have it.
func counted(logp float64) float64 {
	if data.Masked(logp) {
		return 0
	}
	return logp
}

// set takes a row of a view with its log p̂. With α = softplus(A) + ε,
//
//	∂score_j/∂A_ij = sigmoid(A_ij) (log p̂_i + ψ(α_0j) − ψ(α_ij)) = u_ij,
//	∂score_j/∂a_ki = n_k u_ij b_kj,  ∂score_j/∂b_kj = n_k Σ_i u_ij a_ki
//
// fill rows, and [gradients.center] makes of them s_j = ∂score_j − Σ_l q_l ∂score_l.
func (s *gradients) set(v *View, row int, logp []float64) {
	x := s.of
	C, K := x.sizes.Classes, x.sizes.Codewords
	s.setForm(v, row)
	simd.DirichletTerms64(s.form, s.sigma, s.logGamma, s.digamma, s.form, op.AlphaFloor)
	s.rows.Zero()
	for j := range C {
		if data.Masked(logp[j]) {
			s.logq[j] = logp[j]
			continue
		}
		var total float64
		score := s.prior[j] + logp[j] // log π_j and the identity
		for i := range C {
			total += s.form[i*C+j]
			score += (s.form[i*C+j]-1)*counted(logp[i]) - s.logGamma[i*C+j]
		}
		logGamma, digamma := simd.LgammaDigamma64(total)
		s.logq[j] = score + logGamma
		gradient := s.rows.RawRowView(j)
		for i := range C {
			u := s.sigma[i*C+j] * (counted(logp[i]) + digamma - s.digamma[i*C+j])
			for _, k := range s.present {
				a, b := x.factors(int(k))
				gradient[int(k)*C+i] += s.mass[k] * u * b[j]
				gradient[(K+int(k))*C+j] += s.mass[k] * u * a[i]
			}
		}
		if x.learned == len(x.theta) {
			gradient[2*K*C+j] = 1 // the softmax of the prior's own logits cancels in log q
		}
	}
	floats.AddConst(-floats.LogSumExp(s.logq), s.logq)
}

// setForm sets the codewords of a row of a view, their mass, and A.
func (s *gradients) setForm(v *View, row int) {
	x, C := s.of, s.of.sizes.Classes
	for _, k := range s.present {
		s.mass[k] = 0
	}
	s.present = s.present[:0]
	v.eachCode(row, x.sizes, func(k int32, share float64) {
		if s.mass[k] == 0 {
			s.present = append(s.present, k)
		}
		s.mass[k] += share
	})
	clear(s.form)
	for _, k := range s.present {
		a, b := x.factors(int(k))
		for i, ai := range a {
			floats.AddScaled(s.form[i*C:][:C], s.mass[k]*ai, b)
		}
	}
}

// center turns the rows from ∂score_j into s_j.
func (s *gradients) center() {
	clear(s.mean)
	for j, logq := range s.logq {
		floats.AddScaled(s.mean, math.Exp(logq), s.rows.RawRowView(j))
	}
	for j := range s.logq {
		floats.Sub(s.rows.RawRowView(j), s.mean)
	}
}

// logit returns logit q_j = log q_j − log Σ_{l≠j} q_l and fills gradient with
//
//	∂logit q_j/∂θ = ∂score_j − Σ_{l≠j} q_l/(1 − q_j) ∂score_l,
//
// sums without the cancellation of 1 − q_j where q_j is near 1.
func (s *gradients) logit(gradient []float64, j int) float64 {
	own, rest := s.logq[j], s.rest(j)
	copy(gradient, s.rows.RawRowView(j))
	for l, logq := range s.logq {
		if l != j {
			floats.AddScaled(gradient, -math.Exp(logq-rest), s.rows.RawRowView(l))
		}
	}
	return own - rest
}

// parts returns logit q_j and fills w (C) with the coordinates of its gradient in those of the
// scores: 1 at j, −q_l/(1 − q_j) at l.
func (s *gradients) parts(w []float64, j int) float64 {
	own, rest := s.logq[j], s.rest(j)
	for l, logq := range s.logq {
		w[l] = -math.Exp(logq - rest)
	}
	w[j] = 1
	return own - rest
}

// rest is log Σ_{l≠j} q_l.
func (s *gradients) rest(j int) float64 {
	own := s.logq[j]
	s.logq[j] = math.Inf(-1)
	rest := floats.LogSumExp(s.logq)
	s.logq[j] = own
	return rest
}

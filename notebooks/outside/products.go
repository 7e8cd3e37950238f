package main

import (
	"calibra/theory"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Products is what a convergence study compares of [Rank]: M_k = Σ_ρ a_kρ b_kρᵀ, which an
// invertible R×R matrix between the receivers and the senders of a codeword leaves alone.
// The factors themselves do not converge.
type Products struct{ K, C, R int }

var _ theory.Target = Products{}

// Blocks is K.
func (p Products) Blocks() int { return p.K }

// Size is ‖M_k‖.
func (p Products) Size(k int, theta []float64) float64 { return floats.Norm(p.product(k, theta), 2) }

// Distance is ‖M_k − M*_k‖.
func (p Products) Distance(k int, theta, reference []float64) float64 {
	return floats.Distance(p.product(k, theta), p.product(k, reference), 2)
}

// Jacobian is ∂vec M_k/∂θ.
func (p Products) Jacobian(k int, theta []float64) *mat.Dense {
	d := mat.NewDense(p.C*p.C, len(theta), nil)
	for rho := range p.R {
		a, b := p.at(rho, k)
		for i := range p.C {
			for j := range p.C {
				d.Set(i*p.C+j, a+i, theta[b+j])
				d.Set(i*p.C+j, b+j, theta[a+i])
			}
		}
	}
	return d
}

func (p Products) product(k int, theta []float64) []float64 {
	m := make([]float64, p.C*p.C)
	for rho := range p.R {
		a, b := p.at(rho, k)
		for at := range m {
			m[at] += theta[a+at/p.C] * theta[b+at%p.C]
		}
	}
	return m
}

// at is where a_kρ and b_kρ begin in θ, the weights of Init laid end to end.
func (p Products) at(rho, k int) (a, b int) {
	return (2*rho*p.K + k) * p.C, ((2*rho+1)*p.K + k) * p.C
}

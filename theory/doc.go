// Package theory checks the paper's statistical claims on synthetic problems small
// enough that every population quantity is an exact sum.
//
// # The estimator
//
// A calibrator's parameters θ̂ minimize L_N(θ) = −Σ W_N log q(y | cell, p̂; θ), where W_N
// are the shares of N rows that fell on each (cell, atom, label); θ* minimizes the
// same loss under the population's weights. Where some change of θ moves no
// prediction (the [Gauge]: of the paper's factors, (a_k, b_k) → (t a_k, b_k/t)), only
// what is left can converge:
//
//	√N (θ̂ − θ*) → N(0, H⁺ J H⁺) off the gauge,   H = ∇²L(θ*),  J = E[∇ℓ ∇ℓᵀ]
//
// the sandwich of White (1982), which holds for a misspecified calibrator too. Theorem
// 1 is its rate N^(−1/2); Theorem 2 is that of the codeword's block M_k = a_k b_kᵀ (a
// [Target]) in N_k, the number of slots that were assigned to it.
//
// # Studies
//
// [Studies] lists what is checked, claim by claim; a [Study] gives a [Report] whose rows
// carry the [Band] they must lie in. Errors are compared with the sandwich in their
// constants, not in their slopes alone. [Rate] asks the same of any layers.Map.
//
// # Why a finite support
//
// A [Table] holds every cell and in each a few values of log p̂, so that a population's
// H and J are sums without error and a sample of any N is one multinomial draw: N =
// 10⁹ costs what N = 10³ does.
package theory

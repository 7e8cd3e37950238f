package optim

import "cmp"

// Lion moves every weight by the same length (Chen et al. 2023):
//
//	u ← sign(β₁ m + (1−β₁) g)
//	m ← β₂ m + (1−β₂) g
//	θ ← θ − η (u + λ θ)
type Lion struct {
	Rate        float64 // η; 0: 1e-4
	Beta1       float64 // 0: 0.9
	Beta2       float64 // 0: 0.99
	WeightDecay float64 // λ, decoupled
}

// Parts is itself.
func (l Lion) Parts() []Part { return []Part{l} }

// State is m.
func (Lion) State() []string { return []string{"mean"} }

// Apply is the step.
func (l Lion) Apply(_ Time, w []Weight) {
	rate, beta1, beta2 := cmp.Or(l.Rate, 1e-4), cmp.Or(l.Beta1, 0.9), cmp.Or(l.Beta2, 0.99)
	Each(w, func(theta, g float64, m []float64) float64 {
		u := cmp.Compare(beta1*m[0]+(1-beta1)*g, 0)
		m[0] = beta2*m[0] + (1-beta2)*g
		return rate * (float64(u) + l.WeightDecay*theta)
	})
}

package optim

import "cmp"

// Lion moves every weight by the same length (Chen et al. 2023), with decoupled weight decay:
//
//	u ← sign(β₁ m + (1−β₁) g)
//	m ← β₂ m + (1−β₂) g
//	θ ← θ − η (u + λ θ)
type Lion struct {
	Rate        float64 // η; 0: 1e-4
	Beta1       float64 // 0: 0.9
	Beta2       float64 // 0: 0.99
	WeightDecay float64 // λ
}

// Parts are Sign, Decay and Rate.
func (l Lion) Parts() []Part {
	return []Part{Sign{l.Beta1, l.Beta2}, Decay{Strength: l.WeightDecay}, Rate{cmp.Or(l.Rate, 1e-4)}}
}

// Sign is the sign of a mean of the updates and the present one: Lion without decay and rate.
type Sign struct {
	Beta1 float64 // share of the mean in the sign; 0: 0.9
	Beta2 float64 // decay of the mean; 0: 0.99
}

func (s Sign) Parts() []Part { return []Part{s} }

func (Sign) State() []string { return []string{"mean"} }

func (s Sign) Apply(_ Time, w []Weight) {
	beta1, beta2 := cmp.Or(s.Beta1, 0.9), cmp.Or(s.Beta2, 0.99)
	Each(w, func(_, g float64, m []float64) float64 {
		u := cmp.Compare(beta1*m[0]+(1-beta1)*g, 0)
		m[0] = beta2*m[0] + (1-beta2)*g
		return float64(u)
	})
}

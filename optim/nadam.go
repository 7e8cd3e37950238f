package optim

import (
	"cmp"
	"math"
)

// Nadam is Adam with Nesterov momentum (Dozat 2016), as torch.optim.NAdam has it:
//
//	g ← g + λ θ
//	μ_t = β₁ (1 − ½·0.96^(t ψ)),  ψ = 0.004
//	m ← β₁ m + (1−β₁) g,  v ← β₂ v + (1−β₂) g²
//	θ ← θ − η [μ_{t+1} m/(1−Π_{i≤t+1} μ_i) + (1−μ_t) g/(1−Π_{i≤t} μ_i)] / (√(v/(1−β₂ᵗ)) + ε)
type Nadam struct {
	Rate        float64 // η; 0: 2e-3
	Beta1       float64 // 0: 0.9
	Beta2       float64 // 0: 0.999
	Epsilon     float64 // 0: 1e-8
	WeightDecay float64 // λ, added to the gradient
}

// Parts are Decay, NesterovMoments and Rate.
func (n Nadam) Parts() []Part {
	return []Part{Decay{Strength: n.WeightDecay}, NesterovMoments{n.Beta1, n.Beta2, n.Epsilon}, Rate{cmp.Or(n.Rate, 2e-3)}}
}

// NesterovMoments is [Moments], whose fields it has, with the mean taken one step ahead: Nadam without decay and rate.
type NesterovMoments Moments

func (n NesterovMoments) Parts() []Part { return []Part{n} }

// State is m, v and 1 − Π μ_i.
func (NesterovMoments) State() []string { return []string{"mean", "square", "weight"} }

// Apply gives the bracket over the root.
func (n NesterovMoments) Apply(t Time, w []Weight) {
	n = NesterovMoments(Moments(n).withDefaults())
	mu := func(t int) float64 { return n.Beta1 * (1 - 0.5*math.Pow(0.96, 0.004*float64(t))) }
	now, next := mu(t.Step), mu(t.Step+1)
	bias := 1 - math.Pow(n.Beta2, float64(t.Step))
	Each(w, func(_, g float64, s []float64) float64 {
		s[0] = n.Beta1*s[0] + (1-n.Beta1)*g
		s[1] = n.Beta2*s[1] + (1-n.Beta2)*g*g
		s[2] = 1 - (1-s[2])*now
		return (next*s[0]/(1-(1-s[2])*next) + (1-now)*g/s[2]) / (math.Sqrt(s[1]/bias) + n.Epsilon)
	})
}

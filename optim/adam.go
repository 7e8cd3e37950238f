package optim

import (
	"cmp"
	"math"

	"calibra/graph/op"

	"gorgonia.org/tensor"
)

// Adam (Kingma and Ba 2015) with coupled L2 weight decay, as torch.optim.Adam:
//
//	g ← g + λ θ
//	m ← β₁ m + (1−β₁) g
//	v ← β₂ v + (1−β₂) g²
//	θ ← θ − η (m/(1−β₁ᵗ)) / (√(v/(1−β₂ᵗ)) + ε)
//
// The paper trains with η = λ = 1e-3. It is the chain Decay, Moments, Rate, computed in one pass.
type Adam struct {
	Rate        float64 // η; 0: 1e-3
	Beta1       float64 // 0: 0.9
	Beta2       float64 // 0: 0.999
	Epsilon     float64 // 0: 1e-8
	WeightDecay float64 // λ, added to the gradient
}

// Parts are Decay, Moments and Rate.
func (a Adam) Parts() []Part {
	return []Part{Decay{Strength: a.WeightDecay}, Moments{a.Beta1, a.Beta2, a.Epsilon}, Rate{cmp.Or(a.Rate, 1e-3)}}
}

// AdamW is Adam with decoupled weight decay (Loshchilov and Hutter 2019): θ is
// first scaled by 1 − ηλ and the gradient is left alone. It is the chain Moments, Decay, Rate,
// computed in one pass.
type AdamW struct {
	Rate        float64                // η; 0: 1e-3
	Beta1       float64                // 0: 0.9
	Beta2       float64                // 0: 0.999
	Epsilon     float64                // 0: 1e-8
	WeightDecay float64                // λ
	Mask        func(name string) bool // which weights decay; nil: all
}

// Parts are Moments, Decay and Rate.
func (a AdamW) Parts() []Part {
	return []Part{Moments{a.Beta1, a.Beta2, a.Epsilon}, Decay{a.WeightDecay, a.Mask}, Rate{cmp.Or(a.Rate, 1e-3)}}
}

// Moments divides the mean of the updates by the root of the mean of their squares, both
// corrected for their start at zero: Adam without its rate.
type Moments struct {
	Beta1   float64 // 0: 0.9
	Beta2   float64 // 0: 0.999
	Epsilon float64 // 0: 1e-8
}

func (m Moments) Parts() []Part { return []Part{m} }

// State is m and v.
func (Moments) State() []string { return []string{"mean", "square"} }

func (m Moments) withDefaults() Moments {
	return Moments{cmp.Or(m.Beta1, 0.9), cmp.Or(m.Beta2, 0.999), cmp.Or(m.Epsilon, 1e-8)}
}

// Apply gives (m/(1−β₁ᵗ)) / (√(v/(1−β₂ᵗ)) + ε).
func (m Moments) Apply(t Time, w []Weight) {
	m = m.withDefaults()
	rate, scale := m.corrections(t)
	Each(w, func(_, u float64, s []float64) float64 {
		s[0] = m.Beta1*s[0] + (1-m.Beta1)*u
		s[1] = m.Beta2*s[1] + (1-m.Beta2)*u*u
		return s[0] / rate / (math.Sqrt(s[1])*scale + m.Epsilon)
	})
}

// corrections are 1−β₁ᵗ and 1/√(1−β₂ᵗ).
func (m Moments) corrections(t Time) (rate, scale float64) {
	return 1 - math.Pow(m.Beta1, float64(t.Step)), 1 / math.Sqrt(1-math.Pow(m.Beta2, float64(t.Step)))
}

// step is Decay, Moments, Decay and Rate of one weight in one pass: coupled λ, decoupled λ′.
func (m Moments) step(t Time, w Weight, rate, coupled, decoupled float64) {
	bias, scale := m.corrections(t)
	shrink := 1 - rate*decoupled
	if w.Value.Dtype() == tensor.Float32 {
		op.Adam{
			Beta1: float32(m.Beta1), Beta2: float32(m.Beta2), Decay: float32(coupled), Shrink: float32(shrink),
			Rate: float32(rate / bias), Scale: float32(scale), Epsilon: float32(m.Epsilon),
		}.Step(w.Value.Float32s(), w.Update.Float32s(), w.State[0].Float32s(), w.State[1].Float32s())
		return
	}
	rate /= bias
	theta, grad, mean, square := w.Value.Float64s(), w.Update.Float64s(), w.State[0].Float64s(), w.State[1].Float64s()
	for i, x := range theta {
		g := grad[i] + coupled*x
		mean[i] = m.Beta1*mean[i] + (1-m.Beta1)*g
		square[i] = m.Beta2*square[i] + (1-m.Beta2)*g*g
		theta[i] = shrink*x - rate*mean[i]/(math.Sqrt(square[i])*scale+m.Epsilon)
	}
}

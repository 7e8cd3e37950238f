package optim

import (
	"cmp"

	"gorgonia.org/tensor"
)

// SGD is stochastic gradient descent with heavy-ball momentum and coupled L2
// weight decay, as torch.optim.SGD:
//
//	g ← g + λ θ
//	u ← μ u + g
//	θ ← θ − η u
//
// It is the chain Decay, Momentum, Rate, computed in one pass.
type SGD struct {
	Rate        float64 // η; 0: 1e-2
	Momentum    float64 // μ
	WeightDecay float64 // λ
}

// Parts are Decay, Momentum and Rate.
func (s SGD) Parts() []Part {
	return []Part{Decay{Strength: s.WeightDecay}, Momentum{s.Momentum}, Rate{cmp.Or(s.Rate, 1e-2)}}
}

// Momentum sums the updates, each weighed less by a factor with every step.
type Momentum struct{ Factor float64 } // μ

func (m Momentum) Parts() []Part { return []Part{m} }

func (Momentum) State() []string { return []string{"velocity"} }

func (m Momentum) Apply(_ Time, w []Weight) {
	Each(w, func(_, g float64, u []float64) float64 {
		u[0] = m.Factor*u[0] + g
		return u[0]
	})
}

// step is Decay, Momentum and Rate of one weight in one pass.
func (m Momentum) step(w Weight, rate, decay float64) {
	if w.Value.Dtype() == tensor.Float32 {
		descend(w.Value.Float32s(), w.Update.Float32s(), w.State[0].Float32s(), float32(rate), float32(m.Factor), float32(decay))
	} else {
		descend(w.Value.Float64s(), w.Update.Float64s(), w.State[0].Float64s(), rate, m.Factor, decay)
	}
}

func descend[F float32 | float64](theta, grad, u []F, rate, momentum, decay F) {
	for i, x := range theta {
		u[i] = momentum*u[i] + grad[i] + decay*x
		theta[i] = x - rate*u[i]
	}
}

package optim

import (
	"math"

	"calibra/graph"
	"calibra/graph/simd"

	"gorgonia.org/tensor"
)

// Adam (Kingma and Ba 2015) with coupled L2 weight decay, as torch.optim.Adam:
//
//	g ← g + λ θ
//	m ← β₁ m + (1−β₁) g
//	v ← β₂ v + (1−β₂) g²
//	θ ← θ − η (m/(1−β₁ᵗ)) / (√(v/(1−β₂ᵗ)) + ε)
//
// The paper trains with η = λ = 1e-3.
type Adam struct {
	Rate        float64 // η; 0: 1e-3
	Beta1       float64 // 0: 0.9
	Beta2       float64 // 0: 0.999
	Epsilon     float64 // 0: 1e-8
	WeightDecay float64 // λ, added to the gradient
}

// AdamW is Adam with decoupled weight decay (Loshchilov and Hutter 2019): θ is
// first scaled by 1 − ηλ and the gradient is left alone.
type AdamW struct {
	Rate        float64 // η; 0: 1e-3
	Beta1       float64 // 0: 0.9
	Beta2       float64 // 0: 0.999
	Epsilon     float64 // 0: 1e-8
	WeightDecay float64 // λ
}

func (a Adam) start(params []*tensor.Dense) graph.Mover {
	return newAdam(a, 0, params)
}

func (a AdamW) start(params []*tensor.Dense) graph.Mover {
	return newAdam(a.coupled(), a.WeightDecay, params)
}

// coupled is the rule without its weight decay.
func (a AdamW) coupled() Adam {
	return Adam{Rate: a.Rate, Beta1: a.Beta1, Beta2: a.Beta2, Epsilon: a.Epsilon}
}

func newAdam(a Adam, decoupled float64, params []*tensor.Dense) *adamState {
	a.Rate = orDefault(a.Rate, 1e-3)
	a.Beta1, a.Beta2 = orDefault(a.Beta1, 0.9), orDefault(a.Beta2, 0.999)
	a.Epsilon = orDefault(a.Epsilon, 1e-8)
	return &adamState{rule: a, shrink: 1 - a.Rate*decoupled, mean: zerosLike(params), square: zerosLike(params)}
}

type adamState struct {
	rule         Adam
	shrink       float64 // factor on θ before a step
	t            int
	mean, square []*tensor.Dense // m, v
}

func (a *adamState) Move(params, grads []*tensor.Dense) {
	a.t++
	bias1 := 1 - math.Pow(a.rule.Beta1, float64(a.t))
	bias2 := math.Sqrt(1 - math.Pow(a.rule.Beta2, float64(a.t)))
	for i, p := range params {
		if p.Dtype() == tensor.Float32 {
			simd.Adam{
				Beta1: float32(a.rule.Beta1), Beta2: float32(a.rule.Beta2), Decay: float32(a.rule.WeightDecay), Shrink: float32(a.shrink),
				Rate: float32(a.rule.Rate / bias1), Scale: float32(1 / bias2), Epsilon: float32(a.rule.Epsilon),
			}.Step(p.Float32s(), grads[i].Float32s(), a.mean[i].Float32s(), a.square[i].Float32s())
		} else {
			a.step64(p.Float64s(), grads[i].Float64s(), a.mean[i].Float64s(), a.square[i].Float64s(), bias1, bias2)
		}
	}
}

func (a *adamState) step64(theta, grad, m, v []float64, bias1, bias2 float64) {
	beta1, beta2 := a.rule.Beta1, a.rule.Beta2
	rate, scale := a.rule.Rate/bias1, 1/bias2
	for i, x := range theta {
		g := grad[i] + a.rule.WeightDecay*x
		m[i] = beta1*m[i] + (1-beta1)*g
		v[i] = beta2*v[i] + (1-beta2)*g*g
		theta[i] = a.shrink*x - rate*m[i]/(math.Sqrt(v[i])*scale+a.rule.Epsilon)
	}
}

func (a *adamState) Pass(n int) any {
	p := &graph.AdamPass{
		Beta1: a.rule.Beta1, Beta2: a.rule.Beta2, Epsilon: a.rule.Epsilon, Decay: a.rule.WeightDecay, Shrink: a.shrink,
		Mean: a.mean, Square: a.square, Begun: a.t > 0,
	}
	for range n {
		a.t++
		p.Rates = append(p.Rates, a.rule.Rate/(1-math.Pow(a.rule.Beta1, float64(a.t))))
		p.Scales = append(p.Scales, 1/math.Sqrt(1-math.Pow(a.rule.Beta2, float64(a.t))))
	}
	return p
}

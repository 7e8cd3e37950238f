package optim

import (
	"calibra/graph"

	"gorgonia.org/tensor"
)

// SGD is stochastic gradient descent with heavy-ball momentum and coupled L2
// weight decay, as torch.optim.SGD:
//
//	g ← g + λ θ
//	u ← μ u + g
//	θ ← θ − η u
type SGD struct {
	Rate        float64 // η; 0: 1e-2
	Momentum    float64 // μ
	WeightDecay float64 // λ
}

func (s SGD) start(params []*tensor.Dense) graph.Mover {
	s.Rate = orDefault(s.Rate, 1e-2)
	return &sgdState{s, zerosLike(params), false}
}

type sgdState struct {
	rule     SGD
	velocity []*tensor.Dense // u
	begun    bool
}

func (s *sgdState) Move(params, grads []*tensor.Dense) {
	s.begun = true
	for i, p := range params {
		if p.Dtype() == tensor.Float32 {
			sgdStep(s.rule, p.Float32s(), grads[i].Float32s(), s.velocity[i].Float32s())
		} else {
			sgdStep(s.rule, p.Float64s(), grads[i].Float64s(), s.velocity[i].Float64s())
		}
	}
}

func sgdStep[F float32 | float64](s SGD, theta, grad, u []F) {
	rate, momentum, decay := F(s.Rate), F(s.Momentum), F(s.WeightDecay)
	for i, x := range theta {
		u[i] = momentum*u[i] + grad[i] + decay*x
		theta[i] = x - rate*u[i]
	}
}

func (s *sgdState) Pass(n int) any {
	p := &graph.MomentumPass{Rate: s.rule.Rate, Momentum: s.rule.Momentum, Decay: s.rule.WeightDecay, Velocity: s.velocity, Begun: s.begun}
	s.begun = s.begun || n > 0
	return p
}

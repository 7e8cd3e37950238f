package optim

import (
	"math"

	"calibra/graph"

	"gonum.org/v1/gonum/floats"
	"gorgonia.org/tensor"
)

// largest is ‖x‖∞, NaN where x has one.
func largest(x []float64) float64 { return floats.Norm(x, math.Inf(1)) }

// length is ‖x‖₂ of n tensors together.
func length(n int, x func(k int) *tensor.Dense) (norm float64) {
	for k := range n {
		norm = math.Hypot(norm, floats.Norm(graph.Float64s(x(k)), 2))
	}
	return norm
}

// lengthOf is that of the updates of all weights.
func lengthOf(w []Weight) float64 {
	return length(len(w), func(k int) *tensor.Dense { return w[k].Update })
}

// norms are those of the gradients of steps, ‖g‖₂ over all weights together, as far as they were not taken.
type norms struct {
	sum   float64
	steps int
}

func (n *norms) add(grads []*tensor.Dense) {
	if n == nil {
		return
	}
	n.sum, n.steps = n.sum+length(len(grads), func(k int) *tensor.Dense { return grads[k] }), n.steps+1
}

// take is the mean since the last was taken, NaN where there are none.
func (n *norms) take() float64 {
	if n == nil {
		return math.NaN()
	}
	mean := n.sum / float64(n.steps)
	*n = norms{}
	return mean
}

// rate is the product of the rates and the schedules' factors of the last step, NaN of a rule without a [Rate].
func (m *optimizer) rate() float64 {
	rate := math.NaN()
	for _, p := range m.all {
		if r, is := p.(Rate); is {
			rate = r.Rate
		}
	}
	for _, p := range m.all {
		if s, is := p.(Scheduled); is {
			rate *= s.By.Factor(m.time)
		}
	}
	return rate
}

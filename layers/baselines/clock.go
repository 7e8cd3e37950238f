package baselines

import (
	"calibra/graph"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// withClock joins to w the state clock (1), which counts the steps of a fit: what a
// step draws at random is a function of a seed and of this number.
func withClock(w *graph.Weights) *graph.Weights {
	clock := graph.NewWeights(w.Dtype())
	clock.AddState("clock", []float64{0}, 1)
	return graph.NewWeights(w.Dtype()).Join(w, clock)
}

// tick describes the clock and moves it on after the step.
func tick(b *graph.Builder) *gorgonia.Node {
	now := b.Weight("clock")
	b.Update("clock", b.Plus(now, b.Table("clock/step", graph.Tensor(tensor.Float32, []float64{1}, 1))))
	return now
}

package baselines

import (
	"math/rand/v2"
	"slices"

	"calibra/graph"
	"calibra/graph/op"
	"calibra/layers"
	"calibra/optim"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Vector scaling (Guo et al. 2017): softmax(v ⊙ ℓ + b), a scale and an offset for
// each class, by maximum likelihood from v = 1 and b = 0. As ℓ and the logits differ
// by one number per row, which v multiplies class by class, the two are different
// maps; this is the map of ℓ, which depends only on the probabilities.
//
// A strength λ adds the penalty (λ/n)(‖v − 1‖² + ‖b‖²), so few rows move the map less; 0 is maximum likelihood. A nil
// method is L-BFGS.
func Vector(method optim.Method, strength float64) *Smooth {
	return &Smooth{title: "vector scaling", of: vectorMap{strength: strength}, method: method}
}

// vectorMap has weights vector/scale (C) and vector/bias (C). Its input is ℓ with its
// floor.
type vectorMap struct {
	strength float64

	flooredInput
}

func (vectorMap) Init(s layers.Sizes, _ *rand.Rand) (*graph.Weights, error) {
	w := graph.NewWeights(tensor.Float64)
	w.Add("vector/scale", ones(s.Classes), s.Classes)
	w.Add("vector/bias", make([]float64, s.Classes), s.Classes)
	return w, nil
}

func (vectorMap) LogProbs(b *graph.Builder, in layers.Batch) *gorgonia.Node {
	scaled := b.Apply(op.TimesRow(), in.Input(b, "floored"), b.Weight("vector/scale"))
	return b.LogSoftmax(b.AddRow(scaled, b.Weight("vector/bias")))
}

func (m vectorMap) Loss(b *graph.Builder, in layers.Batch, n int) *gorgonia.Node {
	loss := layers.NLL(b, m, in)
	scale := b.Weight("vector/scale")
	if m.strength == 0 {
		return loss
	}
	c := b.Dim(scale, 0)
	moved := b.Plus(scale, b.Table("vector/identity", graph.Tensor(tensor.Float64, slices.Repeat([]float64{-1}, c), c)))
	loss = b.Plus(loss, b.Apply(op.Scale(0, m.strength/float64(n)), b.Apply(op.Sum(1), b.Times(moved, moved))))
	return b.Plus(loss, layers.Penalty(b, "vector/bias", m.strength/float64(n)))
}

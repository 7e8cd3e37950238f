package main

import (
	"math/rand/v2"

	"calibra/experiments"
	"calibra/graph"
	"calibra/graph/op"
	"calibra/layers"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Squash is softmax(v ⊙ log p̂ + u ⊙ ELU(log p̂ + 1)): classes that are all but ruled out count
// less than a scale alone would have them.
type Squash struct{}

// Init starts at the classifier as it is.
func (Squash) Init(s layers.Sizes, _ *rand.Rand) (*graph.Weights, error) {
	w := graph.NewWeights(tensor.Float64)
	ones := make([]float64, s.Classes)
	for c := range ones {
		ones[c] = 1
	}
	w.Add("squash/scale", ones, s.Classes)
	w.Add("squash/tail", make([]float64, s.Classes), s.Classes)
	w.AddState("squash/one", ones, s.Classes)
	return w, nil
}

// LogProbs describes the posterior of a batch.
func (Squash) LogProbs(b *graph.Builder, in layers.Batch) *gorgonia.Node {
	tail := b.Apply(ELU(op.Matrix), b.AddRow(in.LogProbs, b.Weight("squash/one")))
	scaled := b.Apply(op.TimesRow(), in.LogProbs, b.Weight("squash/scale"))
	return b.LogSoftmax(b.Plus(scaled, b.Apply(op.TimesRow(), tail, b.Weight("squash/tail"))))
}

var squash = experiments.OnLogits("squash", "a scale for each class, less for classes that are all but ruled out", Squash{})

package anchored

import (
	"math/rand/v2"

	"calibra/graph"
	"calibra/graph/op"
	"calibra/layers"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Scored is a Map whose posterior is the softmax of scores, which a correction can
// be added to.
type Scored interface {
	layers.Map
	// Scores describes the scores (B×C) of a batch.
	Scores(b *graph.Builder, in layers.Batch) *gorgonia.Node
}

// Tempered is one inverse temperature for all rows:
//
//	posterior = softmax(t·log p̂)
//
// On [Anchor] it is temperature scaling. The loss is convex in t. Weight:
// tempered/inverse_temperature (1).
type Tempered struct{}

var _ Scored = Tempered{}

// Init starts at t = 1.
func (Tempered) Init(layers.Sizes, *rand.Rand) (*graph.Weights, error) {
	w := graph.NewWeights(tensor.Float64)
	w.Add("tempered/inverse_temperature", []float64{1}, 1)
	return w, nil
}

func (m Tempered) LogProbs(b *graph.Builder, in layers.Batch) *gorgonia.Node {
	return b.LogSoftmax(m.Scores(b, in))
}

// Scores describes t·log p̂.
func (Tempered) Scores(b *graph.Builder, in layers.Batch) *gorgonia.Node {
	return b.Apply(op.TimesScalar(), in.LogProbs, b.Weight("tempered/inverse_temperature"))
}

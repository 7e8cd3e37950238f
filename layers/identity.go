package layers

import (
	"math/rand/v2"

	"calibra/graph"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Identity leaves the base's predictions alone. On
// [Original] it is the uncalibrated model (NC of the paper's tables), on [Divide]
// the quantized head (VQ-NC).
type Identity struct{}

var _ Map = Identity{}

// Init has no weights to draw.
func (Identity) Init(Sizes, *rand.Rand) (*graph.Weights, error) {
	return graph.NewWeights(tensor.Float64), nil
}

// LogProbs is log p̂.
func (Identity) LogProbs(b *graph.Builder, in Batch) *gorgonia.Node {
	return b.LogSoftmax(in.LogProbs)
}

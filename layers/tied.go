package layers

import (
	"math/rand/v2"

	"calibra/graph"
	"calibra/graph/op"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Tied has one factor for each codeword, receiver and sender in one:
//
//	A(V) = Σ_k n_k(V) a_k a_kᵀ
//
// Classes are then confused both ways alike, with half the weights of [Bilinear].
// Weights: tied/factor (K×C, a), and the prior's.
type Tied struct{}

var _ Map = Tied{}

// Init starts as Bilinear does.
func (Tied) Init(s Sizes, rng *rand.Rand) (*graph.Weights, error) {
	if err := requireRegions("tied", s); err != nil {
		return nil, err
	}
	w := graph.NewWeights(tensor.Float64)
	w.Add("tied/factor", graph.Normals(s.Codewords*s.Classes, factorStart(Softplus{}, s), 1e-5, rng), s.Codewords, s.Classes)
	LearnedPrior{}.Init(w, "tied", s, rng)
	return w, nil
}

// LogProbs describes the calibrated posterior of a batch.
func (Tied) LogProbs(b *graph.Builder, in Batch) *gorgonia.Node {
	factor := b.Weight("tied/factor")
	return b.LogSoftmax(RegionScores(b, in, b.Apply(op.Outer(), factor, factor), LearnedPrior{}, "tied"))
}

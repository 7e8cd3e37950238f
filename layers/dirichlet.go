package layers

import (
	"math/rand/v2"

	"calibra/graph"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Dirichlet is one linear map of log p̂ for all regions (Kull et al. 2019),
//
//	posterior = softmax(log p̂ · W + b)
//
// with W (C×C) and b (C) started at N(0, 0.01²), as the paper's VQ-DC is trained.
// The converged baseline that starts at the identity is baselines.Dirichlet.
type Dirichlet struct{}

var _ Map = Dirichlet{}

// Init draws W and b from N(0, 0.01²).
func (Dirichlet) Init(s Sizes, rng *rand.Rand) (*graph.Weights, error) {
	w := graph.NewWeights(tensor.Float64)
	w.Add("dirichlet/weight", graph.Normals(s.Classes*s.Classes, 0, 0.01, rng), s.Classes, s.Classes)
	w.Add("dirichlet/bias", graph.Normals(s.Classes, 0, 0.01, rng), s.Classes)
	return w, nil
}

// LogProbs describes log softmax(log p̂ · W + b).
func (Dirichlet) LogProbs(b *graph.Builder, in Batch) *gorgonia.Node {
	return b.LogSoftmax(b.Linear("dirichlet", in.LogProbs))
}

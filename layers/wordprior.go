package layers

import (
	"math/rand/v2"

	"calibra/graph"

	"gorgonia.org/gorgonia"
)

// CodewordPrior is log π_j|V of a region, up to what does not depend on j: that of a [LearnedPrior] and a bias β_k
// (name/codewords, K×C, started at 0) for each slot with codeword k,
//
//	log π_j|V = log π_j + Σ_k n_k(V) β_kj + const ,
//
// the "possibly cell-dependent prior probability" of the paper's proposition 2.
type CodewordPrior struct{}

var _ Prior = CodewordPrior{}

// Init draws the logits of π and adds β.
func (CodewordPrior) Init(w *graph.Weights, name string, s Sizes, rng *rand.Rand) {
	LearnedPrior{}.Init(w, name, s, rng)
	w.Add(name+"/codewords", make([]float64, s.Codewords*s.Classes), s.Codewords, s.Classes)
}

// Add adds log π and the biases of each row's codewords.
func (CodewordPrior) Add(b *graph.Builder, name string, scores *gorgonia.Node, in Batch) *gorgonia.Node {
	return b.Plus(LearnedPrior{}.Add(b, name, scores, in), b.MatMul(in.Mass, b.Weight(name+"/codewords")))
}

package layers

import (
	"math/rand/v2"

	"calibra/graph"
	"calibra/graph/op"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Diagonal adds to the bilinear form a diagonal of its own, a diagonal plus a matrix of
// low rank:
//
//	A(V) = Σ_k n_k(V) (diag(d_k) + a_k b_kᵀ)
//
// How sure a region should be of each class is a matter of the diagonal, which factors
// of low rank cannot move without the rest. Weights: diagonal/receiver, diagonal/sender
// and diagonal/own (K×C each, the last d), and the prior's.
type Diagonal struct{}

var _ Map = Diagonal{}

// Init starts the factors as Bilinear does and d at 0.
func (Diagonal) Init(s Sizes, rng *rand.Rand) (*graph.Weights, error) {
	if err := requireRegions("diagonal", s); err != nil {
		return nil, err
	}
	w, n := graph.NewWeights(tensor.Float64), s.Codewords*s.Classes
	w.Add("diagonal/receiver", graph.Normals(n, factorStart(Softplus{}, s), 1e-5, rng), s.Codewords, s.Classes)
	w.Add("diagonal/sender", graph.Normals(n, factorStart(Softplus{}, s), 1e-5, rng), s.Codewords, s.Classes)
	w.Add("diagonal/own", make([]float64, n), s.Codewords, s.Classes)
	LearnedPrior{}.Init(w, "diagonal", s, rng)
	return w, nil
}

// LogProbs describes the calibrated posterior of a batch.
func (Diagonal) LogProbs(b *graph.Builder, in Batch) *gorgonia.Node {
	c := b.Dim(in.LogProbs, 1)
	place := make([]float64, c*c*c) // C×C²: entry j goes to j·C+j
	for j := range c {
		place[j*c*c+j*c+j] = 1
	}
	own := b.MatMul(b.Weight("diagonal/own"), b.Table("diagonal/place", graph.Tensor(b.Dtype(), place, c, c*c)))
	outer := b.Apply(op.Outer(), b.Weight("diagonal/receiver"), b.Weight("diagonal/sender"))
	return b.LogSoftmax(RegionScores(b, in, b.Plus(outer, own), LearnedPrior{}, "diagonal"))
}

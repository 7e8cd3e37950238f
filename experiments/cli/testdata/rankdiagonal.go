package main

import (
	"math"
	"math/rand/v2"

	"calibra/experiments/method"
	"calibra/graph"
	"calibra/graph/op"
	"calibra/layers"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// mine is the method of the map: stage 1 divides the features by codewords, stage 2 fits the map on the codes.
var mine = method.Method{
	Name: "mine", Line: "several factors and a diagonal for each codeword",
	Needs: []string{"features"}, StopsEarly: true,
	New: func(o *method.Options) layers.Stateful {
		m := Mine{o.Int("mine.rank", 2, 1, "1", "factors r of a codeword")}
		return layers.Train(o.Divide(), m, o.Stage("calibrate", method.Published))
	},
}

// Mine gives each codeword r factors and a diagonal: A(V) = Σ_k n_k(V) (diag(d_k) + Σ_ρ a_kρ b_kρᵀ).
type Mine struct{ Rank int }

var _ layers.Map = Mine{}

// Init starts r − 1 factors near 0 and one where α ≈ 1, with d = 0.
func (m Mine) Init(s layers.Sizes, rng *rand.Rand) (*graph.Weights, error) {
	w, n, r := graph.NewWeights(tensor.Float64), s.Codewords*s.Classes, s.Codewords*m.Rank
	for _, name := range []string{"mine/receiver", "mine/sender"} {
		start := graph.Normals(n, math.Sqrt(math.Log(math.E-1)/s.Whole()), 1e-5, rng)
		w.Add(name, append(start, graph.Normals(r*s.Classes-n, 0, 0.01, rng)...), r, s.Classes) // factor by factor
	}
	w.Add("mine/diagonal", make([]float64, n), s.Codewords, s.Classes)
	layers.LearnedPrior{}.Init(w, "mine", s, rng)
	return w, nil
}

// LogProbs describes the calibrated log-probabilities (B×C) of a batch.
func (m Mine) LogProbs(b *graph.Builder, in layers.Batch) *gorgonia.Node {
	outer := b.Apply(op.Outer(), b.Weight("mine/receiver"), b.Weight("mine/sender")) // r·K×C²
	k, c := b.Dim(b.Weight("mine/diagonal"), 0), b.Dim(in.LogProbs, 1)
	flat := b.Apply(op.Reshape(2, 1, m.Rank*k*c*c), outer)
	factors := b.Apply(op.Reshape(2, k, c*c), b.Apply(op.SumBlocks(1, m.Rank), flat)) // Σ_ρ, K×C²
	place := make([]float64, c*c*c)                                                   // entry j of d goes to j·C + j
	for j := range c {
		place[j*c*c+j*c+j] = 1
	}
	diagonal := b.MatMul(b.Weight("mine/diagonal"), b.Table("mine/place", graph.Tensor(b.Dtype(), place, c, c*c)))
	return b.LogSoftmax(layers.RegionScores(b, in, b.Plus(factors, diagonal), layers.LearnedPrior{}, "mine"))
}

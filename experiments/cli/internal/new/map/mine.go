package main

import (
	"errors"
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
var mine = method.OnCodewords("mine", "the paper's bilinear calibrator, to be changed", Mine{
	Scale: layers.UnitScale{}, Prior: layers.LearnedPrior{},
})

// Mine is the paper's calibrator. Each codeword k has a receiver a_k and a sender b_k in R^C, and a region
// V = (s(1), …, s(w)) of codeword mass n_k(V) = Σ_i σ_i² 1[s(i) = k] the concentrations
//
//	A(V)    = Σ_i σ_i² a_s(i) b_s(i)ᵀ = Σ_k n_k(V) a_k b_kᵀ        C×C
//	α       = softplus(A(V)) + ε                                   row i predicted class, column j true class; ε = 1e-8
//	score_j = log π_j − log B(α_·j) + Σ_i (α_ij − 1 + δ_ij) log p̂_i
//
// The posterior is softmax(score). The identity δ lets the map start as no change.
type Mine struct {
	Scale layers.SlotScale // σ²
	Prior layers.Prior     // log π
}

var _ layers.Map = Mine{}

// Init starts every receiver and sender at √(softplus⁻¹(1)/w) + N(0, 1e-5²), so that α ≈ 1.
func (m Mine) Init(s layers.Sizes, rng *rand.Rand) (*graph.Weights, error) {
	if s.Slots == 0 {
		return nil, errors.New("the map needs a base that divides the latent space")
	}
	start := math.Sqrt(math.Log(math.E-1) / float64(s.Slots)) // w·start² = log(e − 1) = softplus⁻¹(1)
	w := graph.NewWeights(tensor.Float64)
	w.Add("mine/receiver", graph.Normals(s.Codewords*s.Classes, start, 1e-5, rng), s.Codewords, s.Classes) // a, K×C
	w.Add("mine/sender", graph.Normals(s.Codewords*s.Classes, start, 1e-5, rng), s.Codewords, s.Classes)   // b, K×C
	m.Prior.Init(w, "mine", s, rng)                                                                        // log π, C
	m.Scale.Init(w, "mine", s)                                                                             // σ², w, if it is learned
	return w, nil
}

// LogProbs describes the calibrated log-probabilities (B×C) of a batch.
func (m Mine) LogProbs(b *graph.Builder, in layers.Batch) *gorgonia.Node {
	receiver, sender := b.Weight("mine/receiver"), b.Weight("mine/sender") // K×C, K×C
	outer := b.Apply(op.Outer(), receiver, sender)                         // K×C², a_k b_kᵀ
	mass := m.Scale.Mass(b, "mine", in, b.Dim(receiver, 0))                // B×K, n_k(V)
	form := b.MatMul(mass, outer)                                          // B×C², A(V)
	scores := b.Apply(op.DirichletScores(1), form, in.LogProbs)            // B×C, with α = softplus(A) + ε and 1·δ
	return b.LogSoftmax(m.Prior.Add(b, "mine", scores, in))                // B×C
}

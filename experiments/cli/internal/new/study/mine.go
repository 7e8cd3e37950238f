package main

import (
	"math"
	"math/rand/v2"

	"calibra/graph"
	"calibra/graph/op"
	"calibra/layers"
	"calibra/theory"

	"gonum.org/v1/gonum/floats"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// mine asks where a penalty leads when a fifth of the labels is drawn anew. Every fit is of Shares, by its Loss.
var mine = theory.NewStudy("mine", "label noise and an L1 penalty", theory.Question{
	Population: theory.Population{
		Design:  theory.Design{Classes: 3, Slots: 2, Codewords: 4, Atoms: 6, Decades: 1},
		Disturb: relabelled,
	},
	Estimator: theory.Estimator{Map: Shares{Lambda: 0.01}},
	Statistics: []theory.Statistic{{
		Key: "limit", Quantity: "part of θ* that fits reach, mean", Target: 1, Within: 0.01, Theory: "1",
		Of: func(o *theory.Outcome) theory.Estimate {
			limit := o.Limits[0].Theta // of the one shift of the law
			return o.Mean(func(_ int, v []float64) float64 { return floats.Dot(v, limit) / floats.Dot(limit, limit) })
		},
	}, {
		Key: "size", Quantity: "‖θ*‖", Target: math.NaN(), Theory: "less with more noise, or λ", // reported, without a band
		Of: func(o *theory.Outcome) theory.Estimate {
			return theory.Estimate{Value: floats.Norm(o.Limits[0].Theta, 2)} // of the population: no chance is in it
		},
	}},
})

// relabelled draws a fifth of the labels anew, each class alike.
func relabelled(t *theory.Truth, _ *rand.Rand) {
	for i, q := range t.Label {
		t.Label[i] = 0.8*q + 0.2/float64(t.Table.Classes)
	}
}

// Shares adds v_k (C numbers) to log p̂ for each slot of codeword k: with n_k(V) slots of the cell V
//
//	log q = log softmax(log p̂ + Σ_k n_k(V) v_k) ,  loss = −mean log q_y + λ Σ |v| ,
//	|v| ≈ h softplus(v/h) + h softplus(−v/h) ,  h = 0.1 ,
//
// an L1 penalty that is smooth within h of 0. Without it a shift of all classes is free.
type Shares struct{ Lambda float64 }

var _ layers.Costed = Shares{}

const h = 0.1

// Init makes v (K×C).
func (Shares) Init(s layers.Sizes, rng *rand.Rand) (*graph.Weights, error) {
	w := graph.NewWeights(tensor.Float64)
	w.Add("shares/v", graph.Normals(s.Codewords*s.Classes, 0, 0.1, rng), s.Codewords, s.Classes)
	return w, nil
}

// LogProbs is log q (B×C); in.Mass is n (B×K).
func (Shares) LogProbs(b *graph.Builder, in layers.Batch) *gorgonia.Node {
	return b.LogSoftmax(b.Plus(in.LogProbs, b.MatMul(in.Mass, b.Weight("shares/v"))))
}

// Loss is the loss, a scalar.
func (m Shares) Loss(b *graph.Builder, in layers.Batch, _ int) *gorgonia.Node {
	loss, v := layers.NLL(b, m, in), b.Weight("shares/v")
	for _, sign := range []float64{1, -1} {
		part := b.Apply(op.Softplus(2), b.Apply(op.Scale(2, sign/h), v))
		loss = b.Plus(loss, b.Apply(op.Scale(0, m.Lambda*h), b.Apply(op.Sum(2), part)))
	}
	return loss
}

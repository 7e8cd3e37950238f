package main

import (
	"math/rand/v2"

	"calibra/layers"
	"calibra/theory"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"
)

// stay is the probability that a row has the cell, p̂ and label of the row before it.
const stay = 0.5

// mine asks how fast fits converge to rows that are a Markov chain.
var mine = theory.NewStudy("mine", "a Markov chain of rows", theory.Question{
	Population: theory.Population{Design: theory.Design{Classes: 3, Slots: 2, Codewords: 4, Atoms: 6, Decades: 1}},
	Estimator:  theory.Estimator{Map: layers.Bilinear{Prior: layers.UniformPrior{}}},
	Sampler:    theory.Sampler{Draw: chain, Scores: longRun},
	Sizes:      []int{100_000, 400_000}, Shifts: 2,
})

// chain draws n rows, each with probability stay the one before, and else from the law.
func chain(_ *theory.Truth, law []float64, n int, rng *rand.Rand) []float64 {
	weights, next, at := make([]float64, len(law)), distuv.NewCategorical(law, rng), 0
	for i := range n {
		if i == 0 || rng.Float64() >= stay {
			at = int(next.Rand())
		}
		weights[at] += 1 / float64(n)
	}
	return weights
}

// longRun is J of the chain: Σ_t stay^|t| over all t of that of rows drawn alone.
func longRun(_ theory.Model, l theory.Limit) *mat.SymDense {
	J := mat.NewSymDense(len(l.Theta), nil)
	J.ScaleSym((1+stay)/(1-stay), l.Scores)
	return J
}

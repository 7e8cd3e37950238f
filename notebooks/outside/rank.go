package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"calibra/experiments"
	"calibra/graph"
	"calibra/graph/op"
	"calibra/layers"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Rank is the paper's map with R receivers and senders for each codeword:
//
//	A(V) = Σ_k n_k(V) Σ_ρ a_kρ b_kρᵀ
type Rank struct {
	R     int
	Prior layers.Prior
}

// Init starts the first pair near the identity and the others near 0.
func (m Rank) Init(s layers.Sizes, rng *rand.Rand) (*graph.Weights, error) {
	if s.Slots == 0 {
		return nil, fmt.Errorf("the map of rank %d needs a base that divides the latent space", m.R)
	}
	w := graph.NewWeights(tensor.Float64)
	mean, sd := math.Sqrt(math.Log(math.E-1)/float64(s.Slots)), 1e-5 // softplus(w·mean²) = 1
	for rho := range m.R {
		w.Add(name(rho, "receiver"), graph.Normals(s.Codewords*s.Classes, mean, sd, rng), s.Codewords, s.Classes)
		w.Add(name(rho, "sender"), graph.Normals(s.Codewords*s.Classes, mean, sd, rng), s.Codewords, s.Classes)
		mean, sd = 0, 0.01
	}
	m.Prior.Init(w, "own", s, rng)
	return w, nil
}

// LogProbs describes the posterior of a batch.
func (m Rank) LogProbs(b *graph.Builder, in layers.Batch) *gorgonia.Node {
	table := b.Apply(op.Outer(), b.Weight(name(0, "receiver")), b.Weight(name(0, "sender"))) // K×C²
	for rho := 1; rho < m.R; rho++ {
		table = b.Plus(table, b.Apply(op.Outer(), b.Weight(name(rho, "receiver")), b.Weight(name(rho, "sender"))))
	}
	return b.LogSoftmax(layers.RegionScores(b, in, table, m.Prior, "own"))
}

// rank is the method of the Map, on codes of this module, with its rule for the Map alone.
var rank = experiments.Method{
	Name: "rank", Title: "Rank", Line: "several receivers and senders for each codeword, which are far from each other",
	Needs: []string{"features"}, StopsEarly: true, Cost: experiments.Cost{Seconds: 5, ClassPower: 0.5},
	Candidates: []experiments.Values{{}, {"rank.factors": "1"}, {"codebook.slots": "16"}},
	New: func(o *experiments.Options) layers.Stateful {
		divide := o.Divide()
		if o.Choice("rank.codes", "farthest", []string{"farthest", "kind"}, "", "codes: the farthest slots, or those of codebook.kind") == "farthest" {
			divide.Codebook = Farthest{Fixed: layers.Fixed{Codewords: o.Int("codebook.codewords", 64, 1, "", "codewords")}}
		}
		m := Rank{R: o.Int("rank.factors", 2, 1, "", "receivers and senders of each codeword"), Prior: Bounded{}}
		return layers.Train(divide, m, o.Stage("calibrate", experiments.Training{Batch: 128, Rule: lion}))
	},
}

func name(rho int, of string) string { return fmt.Sprintf("own/%d/%s", rho, of) }

// Bounded is a prior no class of which falls far below the others: log π is the
// log-softmax of ELU(g), and ELU stays above −1.
type Bounded struct{}

// Init starts g (C) at N(0, 0.01²).
func (Bounded) Init(w *graph.Weights, name string, s layers.Sizes, rng *rand.Rand) {
	w.Add(name+"/prior", graph.Normals(s.Classes, 0, 0.01, rng), s.Classes)
}

// Add adds log π to the scores.
func (Bounded) Add(b *graph.Builder, name string, scores *gorgonia.Node, _ layers.Batch) *gorgonia.Node {
	return b.AddRow(scores, b.Apply(op.LogSoftmaxVector(), b.Apply(ELU(op.Vector), b.Weight(name+"/prior"))))
}

package layers

import (
	"math"
	"math/rand/v2"
	"slices"

	"calibra/graph"
	"calibra/graph/op"

	"gonum.org/v1/gonum/floats"
	"gorgonia.org/gorgonia"
)

// Prior is log π, one number for each class and, if it likes, each region. [LearnedPrior], [CodewordPrior],
// [CountPrior] and [UniformPrior] are four; any type with these methods is another. Name is the
// path of the map that has it, under which its weights are.
type Prior interface {
	// Init adds its weights.
	Init(w *graph.Weights, name string, s Sizes, rng *rand.Rand)
	// Add adds log π to the scores (B×C) of a batch.
	Add(b *graph.Builder, name string, scores *gorgonia.Node, in Batch) *gorgonia.Node
}

// LearnedPrior learns log π = log-softmax of C logits (name/prior) started at
// N(0, 0.01²).
type LearnedPrior struct{}

// Init draws the logits.
func (LearnedPrior) Init(w *graph.Weights, name string, s Sizes, rng *rand.Rand) {
	w.Add(name+"/prior", graph.Normals(s.Classes, 0, 0.01, rng), s.Classes)
}

// Add adds their log-softmax.
func (LearnedPrior) Add(b *graph.Builder, name string, scores *gorgonia.Node, _ Batch) *gorgonia.Node {
	return b.AddRow(scores, b.Apply(op.LogSoftmaxVector(), b.Weight(name+"/prior")))
}

// CountPrior fixes π to the class frequencies of the calibration rows, with one
// row added to each class so that an absent class keeps a chance.
type CountPrior struct{}

// Init adds log π as state.
func (CountPrior) Init(w *graph.Weights, name string, s Sizes, _ *rand.Rand) {
	total := float64(len(s.Counts)) + floats.Sum(s.Counts)
	logPrior := make([]float64, len(s.Counts))
	for j, n := range s.Counts {
		logPrior[j] = math.Log((n + 1) / total)
	}
	w.AddState(name+"/prior", logPrior, s.Classes)
}

// Add adds log π.
func (CountPrior) Add(b *graph.Builder, name string, scores *gorgonia.Node, _ Batch) *gorgonia.Node {
	return b.AddRow(scores, b.Weight(name+"/prior"))
}

// UniformPrior fixes π_j = 1/C.
type UniformPrior struct{}

// Init adds log π as state.
func (UniformPrior) Init(w *graph.Weights, name string, s Sizes, _ *rand.Rand) {
	w.AddState(name+"/prior", slices.Repeat([]float64{-math.Log(float64(s.Classes))}, s.Classes), s.Classes)
}

// Add adds log π.
func (UniformPrior) Add(b *graph.Builder, name string, scores *gorgonia.Node, in Batch) *gorgonia.Node {
	return CountPrior{}.Add(b, name, scores, in)
}

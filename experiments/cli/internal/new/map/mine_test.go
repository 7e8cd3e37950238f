//go:build modules

package main

import (
	"math/rand/v2"
	"testing"

	"calibra/experiments/method"
	"calibra/graph"
	"calibra/graph/graphtest"
	"calibra/graph/op"
	"calibra/layers"

	"gorgonia.org/tensor"
)

// TestMap holds the map to the laws of all maps, its gradient among them.
func TestMap(t *testing.T) {
	for _, m := range []layers.Map{
		Mine{layers.UnitScale{}, layers.LearnedPrior{}},
		Mine{layers.LearnedScale{}, layers.CountPrior{}},
	} {
		if err := layers.CheckMap(m, rand.New(rand.NewPCG(1, 0))); err != nil {
			t.Error(err)
		}
	}
}

// TestOps holds the ops that the map is made of to central differences, in float32 and float64. An op of your own goes
// here.
func TestOps(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 0))
	logProbs := graph.Tensor(tensor.Float64, []float64{-0.5, -1, -3, -2, -0.2, -4}, 2, 3)
	for _, err := range []error{
		graphtest.Op(op.Outer(), graph.Tensor(tensor.Float64, graph.Normals(6, 0, 1, rng), 2, 3), graph.Tensor(tensor.Float64, graph.Normals(6, 0, 1, rng), 2, 3)),
		graphtest.Op(op.DirichletScores(1), graph.Tensor(tensor.Float64, graph.Normals(18, 0, 1, rng), 2, 9), logProbs),
	} {
		if err != nil {
			t.Error(err)
		}
	}
}

// TestMethod holds the fitted calibrator to the laws of all calibrators.
func TestMethod(t *testing.T) {
	build := func() layers.Stateful {
		c, _, err := mine.Build(method.Options{Values: method.Values{"codebook.slots": "4", "codebook.codewords": "8", "optim.epochs": "3"}})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	if err := layers.CheckCalibrator(build, rand.New(rand.NewPCG(3, 0))); err != nil {
		t.Error(err)
	}
}

//go:build modules

package main

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"calibra/experiments/method"
	"calibra/graph"
	"calibra/graph/graphtest"
	"calibra/graph/op"
	"calibra/layers"
	"calibra/optim"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// TestBowl: from 0 the rule comes to the least of Σ (x_i − i)² and stays as near as its mean remembers.
func TestBowl(t *testing.T) {
	w := graph.NewWeights(tensor.Float64)
	w.Add("x", []float64{0, 0, 0}, 3)
	target := graph.Tensor(tensor.Float64, []float64{-1, -2, -3}, 3)
	bowl := func(b *graph.Builder) *gorgonia.Node {
		d := b.Plus(b.Weight("x"), b.Table("target", target))
		return b.Apply(op.Sum(1), b.Times(d, d))
	}
	if err := graphtest.Gradient(w, 1, bowl); err != nil {
		t.Error(err)
	}
	const rate = 0.01
	s := optim.Settings{Rule: Lion{Rate: rate, Beta1: 0.9, Beta2: 0.9}, Epochs: 600}
	if _, err := s.Minimize(context.Background(), optim.Problem{Loss: graph.NewObjective(w, bowl), Rows: 1}, rand.New(rand.NewPCG(1, 0))); err != nil {
		t.Fatal(err)
	}
	for i, x := range w.Float64s("x") {
		if !(math.Abs(x-float64(i+1)) <= 20*rate) { // the mean forgets in 1/(1−β₂) = 10 steps, there and back
			t.Errorf("x_%d ends at %v", i, x)
		}
	}
}

// TestMethod holds the paper's calibrator, trained by the rule, to the laws of all calibrators.
func TestMethod(t *testing.T) {
	catalog, err := method.JoinCatalog(mine)
	if err != nil {
		t.Fatal(err)
	}
	vq, err := catalog.Find("vq")
	if err != nil {
		t.Fatal(err)
	}
	build := func() layers.Stateful {
		c, _, err := vq.Build(method.Options{Catalog: catalog, Values: method.Values{
			"optim.rule": "mine", "optim.rate": "1e-4", "codebook.slots": "4", "codebook.codewords": "8", "optim.epochs": "3",
		}})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	if err := layers.CheckCalibrator(build, rand.New(rand.NewPCG(2, 0))); err != nil {
		t.Error(err)
	}
}

package onnx

import (
	"testing"

	"calibra/graph"
	"calibra/graph/op"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// TestStepsOfThisProcessAreNotWritten: where the program of a graph has steps that only this process
// has code for, such as the pieces of ramps, the network has the ops that they stand for.
func TestStepsOfThisProcessAreNotWritten(t *testing.T) {
	weights := graph.NewWeights(tensor.Float32)
	weights.Add("slopes", []float64{0.5, 1, 2}, 3, 1)
	rows := tensor.New(tensor.WithShape(Probe, 2), tensor.WithBacking([]float32{-2, -1, 0, 1, 2, 3}))
	build := func(b *graph.Builder) gorgonia.Nodes {
		return gorgonia.Nodes{b.Apply(op.Ramps([]float64{-1, 1}), b.Take("z", rows), b.Weight("slopes"))}
	}
	b := graph.NewBuilder(weights, Probe)
	p, err := b.Compile(build(b)...)
	if err != nil {
		t.Fatal(err)
	}
	if there, err := p.Elsewhere(); err != nil || there == p {
		t.Fatalf("ramps are no example of such a step any more (%v)", err)
	}
	g := New(Single)
	if out, err := g.Graph(weights, map[*tensor.Dense]Value{rows: g.Logits(2)}, build); err != nil || len(out) != 1 {
		t.Errorf("%v, %v", out, err)
	}
}

package onnx

import (
	"math"
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

// elementwise are ops that map a matrix to one of its shape, each written by a case in ops.go. A new one has a row.
var elementwise = map[string]op.Op{
	"ReLU": op.ReLU(2), "Exp": op.Exp(2), "Softplus": op.Softplus(2), "Sigmoid": op.Sigmoid(2),
	"Scale": op.Scale(2, 0.3), "FlooredLog": op.FlooredLog(2, 0.5), "LogSoftmax": op.LogSoftmax(),
	"Softmax": op.Softmax(),
}

// TestElementwiseOpsSayInONNXWhatTheyCompute: the network of an op gives what the op does, by this package's engine.
func TestElementwiseOpsSayInONNXWhatTheyCompute(t *testing.T) {
	x := []float64{-2, -0.5, 0, 0.5, 2, 7}
	for name, o := range elementwise {
		weights := graph.NewWeights(tensor.Float64)
		rows := graph.Tensor(tensor.Float64, x, Probe, len(x)/Probe)
		build := func(b *graph.Builder) gorgonia.Nodes { return gorgonia.Nodes{b.Apply(o, b.Take("z", rows))} }
		b := graph.NewBuilder(weights, Probe)
		program, err := b.Compile(build(b)...)
		if err == nil {
			copy(program.Rows.Int32s(), []int32{0, 1, 2})
			err = program.Run()
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		g := Serve()
		out, err := g.Graph(weights, map[*tensor.Dense]Value{rows: g.Features(len(x) / Probe)}, build)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		g.Output("out", out[0], Double, len(x)/Probe)
		e, err := g.Engine()
		got := make([]float64, len(x))
		if err == nil {
			err = e.Run(got, "out", Probe, x, nil)
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for i, want := range graph.Float64s(program.Output(0)) {
			if !(math.Abs(got[i]-want) <= 1e-13*math.Max(1, math.Abs(want))) { // of rounding
				t.Errorf("%s of %v is %v in the network, %v by the op", name, x[i], got[i], want)
			}
		}
	}
}

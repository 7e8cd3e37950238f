package op_test

import (
	"math"
	"strings"
	"testing"

	"calibra/graph"
	"calibra/graph/graphtest"
	"calibra/graph/op"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// oneType is the identity of float32 vectors, written for that type alone.
type oneType struct{}

func (oneType) Signature() []op.Kind                                      { return []op.Kind{{Dims: 1}, {Dims: 1}} }
func (oneType) Shape(in []tensor.Shape) (tensor.Shape, error)             { return in[0].Clone(), nil }
func (oneType) WRT() []bool                                               { return []bool{true} }
func (oneType) Grad(_ gorgonia.Nodes, _, g *gorgonia.Node) gorgonia.Nodes { return gorgonia.Nodes{g} }
func (oneType) Run(out gorgonia.Value, in []gorgonia.Value) {
	copy(op.Values[float32](out), op.Values[float32](in[0]))
}

// TestOpOfOneType: an op that is written for one float type stops with an error that names it, by
// every way to run it, and writes nothing beside its value.
func TestOpOfOneType(t *testing.T) {
	const n, guard = 5, 64
	memory := make([]float64, guard+n+guard)
	for i := range memory {
		memory[i] = math.Pi
	}
	out := tensor.New(tensor.WithShape(n), tensor.WithBacking(memory[guard:guard+n:guard+n]))
	in := dense(make([]float64, n), n)
	weights := graph.NewWeights(tensor.Float64)
	weights.Add("x", make([]float64, n), n)
	for way, run := range map[string]func() error{
		"Do":            func() error { _, err := op.New(oneType{}).Do(in); return err },
		"UsePreallocDo": func() error { _, err := op.New(oneType{}).UsePreallocDo(out, in); return err },
		"Program": func() error {
			b := graph.NewBuilder(weights, 1)
			p, err := b.Compile(b.Apply(op.New(oneType{}), b.Weight("x")))
			if err != nil {
				return err
			}
			return p.Run()
		},
		"Objective": func() error {
			loss := func(b *graph.Builder) *gorgonia.Node {
				return b.Apply(op.Sum(1), b.Apply(op.New(oneType{}), b.Weight("x")))
			}
			_, _, err := graph.NewObjective(weights, loss).Gradient([]int32{0})
			return err
		},
		"graphtest.Op": func() error { return graphtest.Op(op.New(oneType{}), weights.Tensor("x")) },
	} {
		if err := run(); err == nil || !strings.Contains(err.Error(), "oneType") || !strings.Contains(err.Error(), "both float types") {
			t.Errorf("%s: %v", way, err)
		}
	}
	for i, v := range memory {
		if v != math.Pi {
			t.Fatalf("number %d of %d has become %v", i-guard, n, v)
		}
	}
}

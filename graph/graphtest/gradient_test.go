package graphtest_test

import (
	"fmt"
	"strings"
	"testing"

	"calibra/graph"
	"calibra/graph/graphtest"
	"calibra/graph/op"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// wrong is the op of Exp with the gradient of the identity.
type wrong struct{ op.ElementwiseOp }

func (wrong) Grad(_ gorgonia.Nodes, _, g *gorgonia.Node) gorgonia.Nodes { return gorgonia.Nodes{g} }

func TestGradientsThatAreWrong(t *testing.T) {
	x := graph.Tensor(tensor.Float64, []float64{1, 2, -0.5, 0.3}, 2, 2)
	if err := graphtest.Op(op.Exp(2), x); err != nil {
		t.Error(err)
	}
	err := graphtest.Op(op.New(wrong{op.Exp(2).Kernel.(op.ElementwiseOp)}), x)
	if err == nil || strings.Count(err.Error(), "central differences say") != 4 {
		t.Errorf("four wrong entries are told as %v", err)
	}
}

// A check that has nothing to check says so.
func TestNothingToCheck(t *testing.T) {
	constant := func(b *graph.Builder) *gorgonia.Node {
		return b.Apply(op.Sum(1), b.Apply(op.Scale(1, 0), b.Weight("x")))
	}
	for says, w := range map[string]*graph.Weights{
		"no learned weight":  graph.NewWeights(tensor.Float64),
		"nothing is checked": weights(tensor.Float64),
		"checked in float64": weights(tensor.Float32),
	} {
		if err := graphtest.Gradient(w, 1, constant); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("the error is %v, not %q", err, says)
		}
	}
}

func weights(dt tensor.Dtype) *graph.Weights {
	w := graph.NewWeights(dt)
	w.Add("x", []float64{1, 2}, 2)
	return w
}

// cube is x³ and its derivative, with a fault to be found.
type cube struct{ Fault string }

func (cube) Signature() []op.Kind { return []op.Kind{op.Vector, op.Vector} }

func (cube) Shape(in []tensor.Shape) (tensor.Shape, error) { return in[0].Clone(), nil }

func (c cube) Run(out gorgonia.Value, in []gorgonia.Value) {
	switch {
	case c.Fault == "float64 alone" || !op.IsFloat32(out):
		for i, x := range op.Values[float64](in[0]) {
			op.Values[float64](out)[i] = x * x * x
		}
	default:
		sign := float32(1)
		if c.Fault == "sign of float32" {
			sign = -1
		}
		to := op.Values[float32](out)
		if c.Fault == "an element unwritten" {
			to = to[1:]
		}
		for i := range to {
			x := op.Values[float32](in[0])[len(op.Values[float32](in[0]))-len(to)+i]
			to[i] = sign * x * x * x
		}
	}
}

func (cube) WRT() []bool { return []bool{true} }

func (c cube) Grad(in gorgonia.Nodes, _, g *gorgonia.Node) gorgonia.Nodes {
	switch c.Fault {
	case "no gradient node":
		return nil
	case "a gradient of another shape":
		return gorgonia.Nodes{op.Sum(1).Of(g)}
	case "a gradient op of too few inputs":
		return gorgonia.Nodes{op.Times(1).Of(g)}
	case "a gradient op of other inputs":
		return gorgonia.Nodes{op.TimesRow().Of(g, g)}
	}
	return gorgonia.Nodes{op.Scale(1, 3).Of(op.Times(1).Of(in[0], op.Times(1).Of(in[0], g)))}
}

// Each fault that float64's derivatives do not show is found, and told with the op's name.
func TestFaultsOfAnOp(t *testing.T) {
	x := graph.Tensor(tensor.Float64, []float64{1, 2, -0.5}, 3)
	if err := graphtest.Op(op.New(cube{}), x); err != nil {
		t.Error(err)
	}
	for fault, says := range map[string]string{
		"sign of float32":      "in float32",
		"an element unwritten": "element 0 of its float32 result unwritten",
		"no gradient node":     "Grad gives 0 nodes for 1 inputs",
		"float64 alone":        "takes a float32 value for float64",

		"a gradient of another shape":     "Grad gives input 0 of shape (3) a node of shape ()",
		"a gradient op of too few inputs": "takes 2 inputs, not 1",
		"a gradient op of other inputs":   "input 0 of op.TimesRowOp{} is a vector; it takes a matrix, a vector, in this order",
	} {
		if err := graphtest.Op(op.New(cube{fault}), x); err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "cube{Fault:") {
			t.Errorf("%s is told as %v", fault, err)
		}
	}
}

// lone is a kernel whose form has no output.
type lone struct{}

func (lone) Run(gorgonia.Value, []gorgonia.Value) {}

func (lone) Form() string { return "N => N" }

// Inputs that an op does not take are told in a sentence, and a form that cannot be read.
func TestInputsOfAnOp(t *testing.T) {
	w := weights(tensor.Float32)
	b := graph.NewBuilder(w, 1)
	x := b.Weight("x")
	for says, apply := range map[string]func() (*gorgonia.Node, error){
		"input 1 of op.TimesOp{Of:{Dims:1 Int:false}} is float64 and one before it float32; make tables in the type of the graph": func() (*gorgonia.Node, error) {
			return op.Apply(op.Times(1), x, b.Table("double", graph.Tensor(tensor.Float64, []float64{1, 2}, 2)))
		},
		"input 0 of op.ScatterAddOp{K:3} is a vector; it takes a matrix of int32, a matrix, in this order": func() (*gorgonia.Node, error) { return op.Apply(op.ScatterAdd(3), x, x) },
		"input 1 of op.TimesOp{Of:{Dims:1 Int:false}} is no node":                                          func() (*gorgonia.Node, error) { return op.Apply(op.Times(1), x, nil) },
	} {
		if _, err := apply(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("the error is %v, not %q", err, says)
		}
	}
	defer func() {
		if p := fmt.Sprint(recover()); !strings.Contains(p, `the form "N => N" of graphtest_test.lone has no ->`) {
			t.Errorf("the panic is %s", p)
		}
	}()
	op.New(lone{})
}

// An op of row numbers has them as they are, and one without a derivative its values checked.
func TestOpsOfIndices(t *testing.T) {
	table := graph.Tensor(tensor.Float64, []float64{1, 2, 3, 4, 5, 6}, 3, 2)
	if err := graphtest.Op(op.Gather(), table, graph.Codes([]int32{2, 0, 1, 1}, 2)); err != nil {
		t.Error(err)
	}
	if err := graphtest.Op(op.Nearest(), table, graph.Tensor(tensor.Float64, []float64{1, 4}, 2, 1)); err != nil {
		t.Error(err)
	}
	if err := graphtest.Op(op.Gather(), table); err == nil {
		t.Error("one input of two is accepted")
	}
}

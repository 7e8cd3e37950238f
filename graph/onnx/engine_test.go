package onnx

import (
	"strings"
	"testing"
)

// TestEngineRefusesOthersOperators: one that it has no code for.
func TestEngineRefusesOthersOperators(t *testing.T) {
	g := New(Double)
	g.Output("out", g.Node("Einsum", []Value{g.Logits(2)}), Double, 2)
	if _, err := g.Engine(); err == nil || !strings.Contains(err.Error(), "Einsum") {
		t.Errorf("an operator without code: %v", err)
	}
}

// TestEngineAgainstByHand: operators at shapes that broadcast, along axes that are kept or go.
func TestEngineAgainstByHand(t *testing.T) {
	x := []float64{3, -1, 2, 0, 5, 4} // 2×3
	for name, c := range map[string]struct {
		build   func(g *Network, x Value) Value
		columns int
		want    []float64
	}{
		"a row added":    {func(g *Network, x Value) Value { return g.Add(x, Table(g, []float64{1, 2, 3}, 1, 3)) }, 3, []float64{4, 1, 5, 1, 7, 7}},
		"a column taken": {func(g *Network, x Value) Value { return g.Sub(x, g.most(x)) }, 3, []float64{0, -4, -1, -5, 0, -1}},
		"the sum kept":   {func(g *Network, x Value) Value { return g.Sum(x, 1, 1) }, 1, []float64{4, 9}},
		"the places":     {func(g *Network, x Value) Value { return g.Cast(g.largest(x, 2), Double) }, 2, []float64{0, 2, 1, 2}},
		"the largest":    {func(g *Network, x Value) Value { return g.Cast(g.largest(x, 1), Double) }, 1, []float64{0, 1}},
		"a product":      {func(g *Network, x Value) Value { return g.MatMul(x, Table(g, []float64{1, 0, 1, 0, 1, 1}, 3, 2)) }, 2, []float64{4, 2, 9, 4}},
		"a masked class": {func(g *Network, x Value) Value { return g.Where(g.less(x, 0), g.Scalar(9), x) }, 3, []float64{3, 9, 2, 0, 5, 4}},
		"rows of a table": {func(g *Network, x Value) Value {
			return g.Reshape(g.Gather(Table(g, []float64{1, 2, 3, 4, 5, 6}, 3, 2), g.largest(x, 1)), -1, 2)
		}, 2, []float64{1, 2, 3, 4}},
		"three axes": {func(g *Network, x Value) Value {
			return g.Reshape(g.MatMul(g.Reshape(x, -1, 1, 3), g.Reshape(x, -1, 3, 1)), -1, 1)
		}, 1, []float64{14, 41}},
		"products": {func(g *Network, x Value) Value { return g.Reshape(g.product(x, 1), -1, 1) }, 1, []float64{-6, 0}},
		"log Γ":    {func(g *Network, x Value) Value { return g.logGamma(g.Add(g.Mul(x, x), g.Scalar(1))) }, 3, []float64{12.801827480081469, 0, 3.1780538303479458, 0, 58.00360522298052, 30.671860106080672}},
	} {
		g := Serve()
		g.Output("out", c.build(g, g.Features(3)), Double, c.columns)
		e, err := g.Engine()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := make([]float64, 2*c.columns)
		for range 2 { // in new memory, and in memory that was used
			if err := e.Run(got, "out", 2, x, nil); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for i, want := range c.want {
				if d := got[i] - want; d > 1e-13*60 || d < -1e-13*60 { // of rounding
					t.Errorf("%s is %v, not %v", name, got, c.want)
					break
				}
			}
		}
	}
}

package graphtest_test

import (
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

func (wrong) Grad(_ gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	return gorgonia.Nodes{g}, nil
}

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

package graph_test

import (
	"maps"
	"strings"
	"testing"

	"calibra/graph"

	"gorgonia.org/tensor"
)

// Of several faults the first by name is told, every time.
func TestRequire(t *testing.T) {
	w := graph.NewWeights(tensor.Float64)
	w.Add("b", make([]float64, 6), 2, 3)
	w.AddState("a", make([]float64, 4), 4)
	if err := w.Require(w.Shapes()); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		shapes map[string]tensor.Shape
		want   string
	}{
		{map[string]tensor.Shape{"a": {4}, "b": {2, 3}, "c": {1}, "d": {1}}, `weight "c" is missing`},
		{map[string]tensor.Shape{"a": {1, 4}, "b": {3, 2}}, `weight "a" has shape (4), not (1, 4)`},
		{map[string]tensor.Shape{"a": {4}}, `weight "b" is one too many`},
	} {
		for range 10 { // maps have no order
			if err := w.Require(maps.Clone(c.shapes)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("%v: error %v does not say %q", c.shapes, err, c.want)
			}
		}
	}
}

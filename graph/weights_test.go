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

// A weight without an element is a sentence, whatever its axis, and so is one of too few values.
func TestWeightsOfNoElements(t *testing.T) {
	for _, c := range []struct {
		shape []int
		want  string
	}{
		{[]int{0, 3}, `weight "mine/left" has no rows`}, {[]int{0}, `weight "mine/left" has no rows`}, {[]int{3, 0}, `weight "mine/left" has no columns`},
		{[]int{2, 3, 0}, `weight "mine/left" has no elements`}, {[]int{-1, -1}, `weight "mine/left" has no rows`}, {[]int{2}, "is given 0 values"},
	} {
		for _, add := range []func(*graph.Weights, string, []float64, ...int){(*graph.Weights).Add, (*graph.Weights).AddState, (*graph.Weights).AddExact} {
			err := func() (err error) {
				defer graph.Recover(&err)
				add(graph.NewWeights(tensor.Float64), "mine/left", nil, c.shape...)
				return nil
			}()
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("a weight of shape %v is told as %v", c.shape, err)
			}
		}
	}
}

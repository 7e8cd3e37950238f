package baselines

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"

	"calibra/data"
	"calibra/graph"

	"gorgonia.org/tensor"
)

// steps is a function by its points (x, y), x ascending: linear between them and constant
// outside (at), or constant up to each (bin).
type steps struct{ x, y []float64 }

// at is the y of the line through the points.
func (s steps) at(v float64) float64 {
	i := sort.SearchFloat64s(s.x, v)
	switch {
	case i == len(s.x):
		return s.y[i-1]
	case i == 0 || s.x[i] == v:
		return s.y[i]
	}
	// As numpy.interp: slope first.
	return (s.y[i]-s.y[i-1])/(s.x[i]-s.x[i-1])*(v-s.x[i-1]) + s.y[i-1]
}

// bin is the y of the first step whose x is not below v, or of the last.
func (s steps) bin(v float64) float64 {
	return s.y[min(sort.SearchFloat64s(s.x, v), len(s.y)-1)]
}

// addSteps adds name/x and name/y (the points of all functions, one after another)
// and name/counts (how many points each has).
func addSteps(w *graph.Weights, name string, functions []steps) {
	var x, y, counts []float64
	for _, s := range functions {
		x, y = append(x, s.x...), append(y, s.y...)
		counts = append(counts, float64(len(s.x)))
	}
	w.AddState(name+"/x", x, len(x))
	w.AddState(name+"/y", y, len(y))
	w.AddState(name+"/counts", counts, len(counts))
}

// readSteps reads the n functions that addSteps wrote, as the only weights of w.
func readSteps(w *graph.Weights, name string, n int) ([]steps, error) {
	for _, part := range []string{"/x", "/y", "/counts"} {
		if !w.Has(name + part) {
			return nil, fmt.Errorf("baselines: weight %q is missing", name+part)
		}
	}
	x, y, counts := w.Float64s(name+"/x"), w.Float64s(name+"/y"), w.Float64s(name+"/counts")
	err := w.Require(map[string]tensor.Shape{name + "/x": {len(x)}, name + "/y": {len(x)}, name + "/counts": {n}})
	if err != nil {
		return nil, err
	}
	functions := make([]steps, n)
	for k, count := range counts {
		points := int(count)
		if points < 1 || points > len(x) || count != math.Trunc(count) || !slices.IsSorted(x[:points]) {
			return nil, fmt.Errorf("baselines: the points of function %d of %q are not in order", k, name)
		}
		functions[k] = steps{x[:points:points], y[:points:points]}
		x, y = x[points:], y[points:]
	}
	if len(x) > 0 {
		return nil, fmt.Errorf("baselines: weight %q has %d points too many", name+"/x", len(x))
	}
	return functions, nil
}

// ascending is the order that sorts x.
func ascending(x []float64) []int {
	order := data.UpTo(len(x))
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(x[i], x[j]) })
	return order
}

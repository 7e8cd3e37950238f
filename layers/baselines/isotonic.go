package baselines

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"calibra/data"
	"calibra/graph"
	"calibra/layers"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"
)

// Isotonic is one-vs-rest isotonic regression (Zadrozny and Elkan 2002): for each
// class the non-decreasing function of p̂_k that is closest to 1[y = k] in squares,
// linear between its thresholds and constant outside, the results divided by their
// sum. A row whose classes are all 0 becomes uniform. Probabilities of exactly 0 and
// 1 are common.
type Isotonic struct {
	sizes layers.Sizes
	maps  []steps // one for each class
}

var _ layers.Stateful = (*Isotonic)(nil)

// Fit pools adjacent violators, class by class; there is nothing to stop early.
func (m *Isotonic) Fit(ctx context.Context, cal, _ *data.Set, _ *rand.Rand) error {
	sizes, err := sizesOf(cal)
	if err != nil {
		return err
	}
	p, err := probabilitiesOf(cal, sizes)
	if err != nil {
		return err
	}
	maps := make([]steps, sizes.Classes)
	for k := range maps {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("interrupted before class %d: %w", k, err)
		}
		maps[k] = isotonic(mat.Col(nil, k, p), indicator(cal.Labels, k))
	}
	m.sizes, m.maps = sizes, maps
	return nil
}

// Predict gives the normalized one-vs-rest values.
func (m *Isotonic) Predict(x *data.Set) (*data.Predictions, error) {
	p, err := probabilitiesOf(x, m.sizes)
	if err != nil {
		return nil, err
	}
	for _, row := range rowsOf(p) {
		for k, v := range row {
			row[k] = m.maps[k].at(v)
		}
	}
	return predictions(p, x.Labels), nil
}

// State is the thresholds of all classes, laid end to end.
func (m *Isotonic) State() (layers.State, error) {
	if m.maps == nil {
		return layers.State{}, errUnfitted
	}
	w := graph.NewWeights(tensor.Float64)
	addSteps(w, "isotonic", m.maps)
	return stateOf(m.sizes, w)
}

// Restore sets them.
func (m *Isotonic) Restore(s layers.State) error {
	sizes, err := readSizes(s.Config)
	if err != nil {
		return err
	}
	maps, err := readSteps(s.Weights, "isotonic", sizes.Classes)
	if err != nil {
		return err
	}
	m.sizes, m.maps = sizes, maps
	return nil
}

// probabilitiesOf is p̂ of each row (N×C).
func probabilitiesOf(x *data.Set, s layers.Sizes) (*mat.Dense, error) {
	l, err := logProbsOf(x, s)
	if err != nil {
		return nil, err
	}
	return exponentials(l), nil
}

// indicator is 1[y = k] of each row.
func indicator(labels []int, k int) []float64 {
	hit := make([]float64, len(labels))
	for i, y := range labels {
		if y == k {
			hit[i] = 1
		}
	}
	return hit
}

// steps is a function that is linear between the points (x, y), x ascending, and
// constant outside.
type steps struct{ x, y []float64 }

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

// isotonic is the isotonic regression of target on x by pooling adjacent violators
// (Barlow et al. 1972). Equal x are averaged first. Of each pool its two ends are
// kept, between which the function is constant.
func isotonic(x, target []float64) steps {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(x[i], x[j]) })

	type pool struct{ lo, hi, weight, sum float64 }
	var pools []pool
	for at := 0; at < len(order); {
		p := pool{lo: x[order[at]], hi: x[order[at]]}
		for ; at < len(order) && x[order[at]] == p.hi; at++ {
			p.weight++
			p.sum += target[order[at]]
		}
		for len(pools) > 0 {
			before := pools[len(pools)-1]
			if before.sum*p.weight < p.sum*before.weight { // means in order
				break
			}
			p = pool{before.lo, p.hi, before.weight + p.weight, before.sum + p.sum}
			pools = pools[:len(pools)-1]
		}
		pools = append(pools, p)
	}
	var s steps
	for _, p := range pools {
		y := p.sum / p.weight
		s.x, s.y = append(s.x, p.lo), append(s.y, y)
		if p.hi > p.lo {
			s.x, s.y = append(s.x, p.hi), append(s.y, y)
		}
	}
	return s
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

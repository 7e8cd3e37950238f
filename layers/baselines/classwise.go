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
	"calibra/graph/onnx"
	"calibra/layers"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"
)

// Classwise is a function of p̂_k for each class, whose values are divided by their sum. There is nothing to stop
// early, and interrupted it keeps nothing.
type Classwise struct {
	kept
	classes []steps // C

	name    string // of its weights
	begin   func(cal *data.Set) (learn, error)
	value   func(s steps, p float64) float64
	network func(s stepsONNX, p onnx.Value) onnx.Value
}

// learn finds the function of a class from the probabilities, labels and weights of rows.
type learn func(p []value, hit, weights []float64) (steps, error)

var _ layers.Stateful = (*Classwise)(nil)

// Fit finds the function of each class.
func (m *Classwise) Fit(ctx context.Context, cal, _ *data.Set, _ *rand.Rand) error {
	class, err := m.begin(cal)
	if err != nil {
		return err
	}
	sizes, classes, err := eachClass(ctx, cal, class)
	if err == nil {
		m.kept, m.classes = kept{sizes, graph.NewWeights(tensor.Float64)}, classes
		addSteps(m.w, m.name, classes)
	}
	return err
}

// eachClass finds the function of each class from the rows in which it can be. A class that cannot be in any has 0.
func eachClass(ctx context.Context, cal *data.Set, class learn) (layers.Sizes, []steps, error) {
	sizes, l, err := logProbsToFit(cal)
	if err != nil {
		return sizes, nil, err
	}
	p, classes, gone, equal := exponentials(l), make([]steps, sizes.Classes), masked(cal), tiesOf(cal)
	for k := range classes {
		if err := ctx.Err(); err != nil {
			return sizes, nil, fmt.Errorf("interrupted before class %d: %w", k, err)
		}
		score, hit, weights := mat.Col(nil, k, p), indicator(cal, k), cal.Weights
		if gone != nil {
			rows := slices.DeleteFunc(data.UpTo(cal.Len()), func(i int) bool { return gone(i, k) })
			score, hit, weights = picked(score, rows), picked(hit, rows), picked(weights, rows)
			if len(rows) == 0 {
				score, hit, weights = []float64{0}, []float64{0}, nil
			}
		}
		if classes[k], err = class(equal.values(score), hit, weights); err != nil {
			return sizes, nil, err
		}
	}
	return sizes, classes, nil
}

// picked are the values of these rows; nil of nil.
func picked(values []float64, rows []int) []float64 {
	if values == nil {
		return nil
	}
	return data.Each(rows, func(i int) float64 { return values[i] })
}

// Predict gives the normalized values.
func (m *Classwise) Predict(x *data.Set) (*data.Predictions, error) {
	p, err := probabilitiesOf(x, m.sizes)
	if err != nil {
		return nil, err
	}
	for _, row := range rowsOf(p) {
		for k, v := range row {
			row[k] = m.value(m.classes[k], v)
		}
	}
	return predictions(p, x)
}

// ONNX is Predict in a network.
func (m *Classwise) ONNX(g *onnx.Network) (onnx.Outputs, error) {
	if m.classes == nil {
		return onnx.Outputs{}, layers.ErrUnfitted
	}
	p := m.network(newStepsONNX(g, m.classes), g.Exp(g.Logits(m.sizes.Classes)))
	return onnx.Outputs{Probabilities: sharesONNX(g, p, m.sizes.Classes), Classes: m.sizes.Classes}, nil
}

// Restore sets the functions of all classes, laid end to end.
func (m *Classwise) Restore(s layers.State) error {
	sizes, err := layers.ReadSizes(s.Config)
	if err != nil {
		return err
	}
	classes, err := readSteps(s.Weights, m.name, sizes.Classes)
	if err != nil {
		return err
	}
	m.kept, m.classes = kept{sizes, s.Weights}, classes
	return nil
}

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
	// A slope would overflow between probabilities of 1e-300.
	return (v-s.x[i-1])/(s.x[i]-s.x[i-1])*(s.y[i]-s.y[i-1]) + s.y[i-1]
}

// bin is the y of the first step whose x is not below v, or of the last.
func (s steps) bin(v float64) float64 { return s.y[min(sort.SearchFloat64s(s.x, v), len(s.y)-1)] }

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

// stepsONNX are functions of one number in a network, one for each class. Tables ((P+1)×C) hold what belongs to each
// class where 0…P of its points lie below a number.
type stepsONNX struct {
	g         *onnx.Network
	functions []steps
	x         []float64 // (P+1)×C, padded by points that no number reaches
	points    int       // P, the most of a class
}

func newStepsONNX(g *onnx.Network, functions []steps) stepsONNX {
	s := stepsONNX{g: g, functions: functions}
	for _, f := range functions {
		s.points = max(s.points, len(f.x))
	}
	s.x = s.table(func(f steps, i int) float64 {
		if i == len(f.x) {
			return math.Inf(1)
		}
		return f.x[i]
	})
	return s
}

// table holds a value of each function for each number i of points, as of its last where it has fewer than P.
func (s stepsONNX) table(value func(f steps, i int) float64) (values []float64) {
	for i := range s.points + 1 {
		for _, f := range s.functions {
			values = append(values, value(f, min(i, len(f.x))))
		}
	}
	return values
}

// at is the value of a table in the row of each class that rows (N×C) say.
func (s stepsONNX) at(table []float64, rows onnx.Value) onnx.Value {
	return s.g.Node("GatherElements", []onnx.Value{onnx.Table(s.g, table, s.points+1, len(s.functions)), rows}, onnx.Int("axis", 0))
}

// below is how many points of each class stand in the relation to v (N×C), Less or LessOrEqual: a search that halves
// what is left of all classes' points at once.
func (s stepsONNX) below(relation string, v onnx.Value) (found onnx.Value) {
	g, left := s.g, s.points
	for left > 0 {
		half := max(left/2, 1)
		point := onnx.Table(g, s.x[(half-1)*len(s.functions):][:len(s.functions)], 1, len(s.functions))
		switch {
		case found != "" && half > 1:
			point = s.at(s.x, g.Add(found, g.Indices(int64(half-1))))
		case found != "":
			point = s.at(s.x, found)
		}
		taken := g.Mul(g.Cast(g.Node(relation, []onnx.Value{point, v}), onnx.Int64), g.Indices(int64(half)))
		if found != "" {
			taken = g.Add(found, taken)
		}
		found, left = taken, left-half
	}
	return found
}

// bin is steps.bin.
func (s stepsONNX) bin(v onnx.Value) onnx.Value {
	return s.at(s.table(func(f steps, i int) float64 { return f.y[min(i, len(f.y)-1)] }), s.below("Less", v))
}

// line is steps.at: (v − x₀)/width · rise + y₀.
func (s stepsONNX) line(v onnx.Value) onnx.Value {
	g, place := s.g, s.below("Less", v)
	at := func(inside func(f steps, i int) float64, outside func(f steps, end int) float64) onnx.Value {
		return s.at(s.table(func(f steps, i int) float64 {
			if i == 0 || i == len(f.x) {
				return outside(f, max(i-1, 0))
			}
			return inside(f, i)
		}), place)
	}
	none := func(steps, int) float64 { return 0 }
	x0 := at(func(f steps, i int) float64 { return f.x[i-1] }, none)
	y0 := at(func(f steps, i int) float64 { return f.y[i-1] }, func(f steps, end int) float64 { return f.y[end] })
	width := at(func(f steps, i int) float64 { return f.x[i] - f.x[i-1] }, func(steps, int) float64 { return 1 })
	rise := at(func(f steps, i int) float64 { return f.y[i] - f.y[i-1] }, none)
	return g.Add(g.Mul(g.Div(g.Sub(v, x0), width), rise), y0)
}

// sharesONNX divides each row by its sum over the classes that can be, uniform where that is 0, and gives
// probabilities.
func sharesONNX(g *onnx.Network, p onnx.Value, classes int) onnx.Value {
	p = g.Unmasked(p, 0)
	sum := g.Sum(p, 1, 1)
	some := g.Node("Greater", []onnx.Value{sum, g.Scalar(0)})
	each := g.Div(p, g.Where(some, sum, g.Scalar(1)))
	can := g.Unmasked(onnx.Table(g, ones(classes), 1, classes), 0) // 1 of each class that can be
	return g.Where(some, each, g.Div(can, g.Sum(can, 1, 1)))
}

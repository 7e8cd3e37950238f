package baselines

import (
	"errors"
	"math"
	"slices"

	"calibra/graph"
	"calibra/graph/onnx"
	"calibra/layers"

	"gonum.org/v1/gonum/mat"
)

// errNeighbours is why a method cannot be a network of single rows.
var errNeighbours = errors.New("it predicts a row with the help of its calibration rows")

// logProbsONNX is ℓ, at least logFloor.
func logProbsONNX(g *onnx.Network, s layers.Sizes) onnx.Value {
	return g.Max(g.LogSoftmax(g.Logits(s.Classes)), g.Scalar(logFloor))
}

// ViewONNX is ℓ.
func (o *original) ViewONNX(g *onnx.Network) (*layers.ONNXView, error) {
	return &layers.ONNXView{LogProbs: logProbsONNX(g, o.Sizes())}, nil
}

// flooredONNX is log(e^ℓ + 1e-12).
func flooredONNX(g *onnx.Network, l onnx.Value) onnx.Value {
	return g.Log(g.Add(g.Exp(l), g.Scalar(probabilityFloor)))
}

// embedONNX is the principal components of the standardized features (N×P). A feature that did
// not vary is 0.
func embedONNX(g *onnx.Network, s layers.Sizes, w *graph.Weights) onnx.Value {
	axes, mean := w.Tensor("embedding/axes").Shape(), w.Float64s("embedding/mean")
	scaled := mat.NewDense(axes[0], axes[1], slices.Clone(w.Float64s("embedding/axes")))
	for j, sd := range w.Float64s("embedding/sd") {
		for k := range axes[1] {
			if sd > 0 {
				scaled.Set(j, k, scaled.At(j, k)/sd)
			} else {
				scaled.Set(j, k, 0)
			}
		}
	}
	centred := g.Sub(g.Features(s.Features), onnx.Table(g, mean, len(mean)))
	return g.MatMul(centred, onnx.Table(g, scaled.RawMatrix().Data, axes...))
}

// sharesONNX divides each row by its sum, uniform where that is 0, and gives probabilities.
func sharesONNX(g *onnx.Network, p onnx.Value, classes int) onnx.Value {
	sum := g.Sum(p, 1, 1)
	some := g.Node("Greater", []onnx.Value{sum, g.Scalar(0)})
	each := g.Div(p, g.Where(some, sum, g.Scalar(1)))
	return g.Where(some, each, g.Scalar(1/float64(classes)))
}

// stepsONNX are functions of one number in a network, one for each class, by their points:
// the points of all classes one after another, P each, padded by such as no number reaches.
type stepsONNX struct {
	g      *onnx.Network
	x, y   onnx.Value // C·P
	first  onnx.Value // where the points of each class begin (1×C)
	last   onnx.Value // the number of points of each class less one (1×C)
	points int        // P
}

// newStepsONNX are functions with each x times scale.
func newStepsONNX(g *onnx.Network, functions []steps, scale float64) stepsONNX {
	c, p := len(functions), 0
	for _, s := range functions {
		p = max(p, len(s.x))
	}
	x, y, last, first := make([]float64, c*p), make([]float64, c*p), make([]int64, c), make([]int64, c)
	for k, s := range functions {
		n := len(s.x)
		for j := range p {
			x[k*p+j], y[k*p+j] = math.Inf(1), s.y[n-1]
		}
		for j, v := range s.x {
			x[k*p+j] = v * scale
		}
		copy(y[k*p:], s.y)
		last[k], first[k] = int64(n-1), int64(k*p)
	}
	return stepsONNX{
		g: g, x: onnx.Table(g, x, c*p), y: onnx.Table(g, y, c*p), points: p,
		last: onnx.Table(g, last, 1, c), first: onnx.Table(g, first, 1, c),
	}
}

// count is how many points of each class stand in the relation to v (N×C), Less or LessOrEqual: a
// search that halves what is left of all classes' points at once.
func (s stepsONNX) count(relation string, v onnx.Value) onnx.Value {
	g := s.g
	taken := func(found onnx.Value, at, n int) onnx.Value { // n where point found+at stands in the relation
		x := g.Gather(s.x, g.Add(found, g.Indices(int64(at))))
		return g.Mul(g.Cast(g.Node(relation, []onnx.Value{x, v}), onnx.Int64), g.Indices(int64(n)))
	}
	found, left := s.first, s.points
	for left > 1 {
		half := left / 2
		found = g.Add(found, taken(found, half-1, half))
		left -= half
	}
	return g.Sub(g.Add(found, taken(found, 0, 1)), s.first)
}

// at is the value of a flat table at the index of each class (N×C).
func (s stepsONNX) at(table, index onnx.Value) onnx.Value {
	return s.g.Gather(table, s.g.Add(index, s.first))
}

// bin is steps.bin.
func (s stepsONNX) bin(v onnx.Value) onnx.Value {
	return s.at(s.y, s.g.Min(s.count("Less", v), s.last))
}

// line is steps.at.
func (s stepsONNX) line(v onnx.Value) onnx.Value {
	g := s.g
	below := s.count("Less", v)
	next, before := g.Min(below, s.last), g.Max(g.Sub(below, g.Indices(1)), g.Indices(0))
	x0, x1 := s.at(s.x, before), s.at(s.x, next)
	y0, y1 := s.at(s.y, before), s.at(s.y, next)
	width := g.Sub(x1, x0)
	inside := g.Node("Greater", []onnx.Value{width, g.Scalar(0)})
	slope := g.Div(g.Sub(y1, y0), g.Where(inside, width, g.Scalar(1)))
	return g.Where(inside, g.Add(g.Mul(slope, g.Sub(v, x0)), y0), y1)
}

// ONNX is p₁/(1 − p₀ + p₁) of each class, divided by their sum. Scores within sameScore are
// one: the points are moved by it, as ONNX Runtime takes a product with 1 + 1e-12 for one
// with 1.
func (m *VennAbers) ONNX(g *onnx.Network) (onnx.Outputs, error) {
	if m.upper == nil {
		return onnx.Outputs{}, layers.ErrUnfitted
	}
	p := g.Exp(logProbsONNX(g, m.sizes))
	lower, upper := newStepsONNX(g, m.lower, 1-sameScore), newStepsONNX(g, m.upper, 1+sameScore)
	below := lower.count("LessOrEqual", p) // points ≤ p̂
	p0 := lower.at(lower.y, g.Max(g.Sub(below, g.Indices(1)), g.Indices(0)))
	p0 = g.Where(g.Node("Greater", []onnx.Value{below, g.Indices(0)}), p0, g.Scalar(0))
	above := upper.count("Less", p) // points < p̂
	p1 := upper.at(upper.y, g.Min(above, upper.last))
	p1 = g.Where(g.Node("Greater", []onnx.Value{above, upper.last}), g.Scalar(1), p1)
	merged := g.Div(p1, g.Add(g.Sub(g.Scalar(1), p0), p1))
	return onnx.Outputs{Probabilities: sharesONNX(g, merged, m.sizes.Classes), Classes: m.sizes.Classes}, nil
}

// ONNX replaces the top probability by the frequency of its bin.
func (m *TopLabel) ONNX(g *onnx.Network) (onnx.Outputs, error) {
	if m.classes == nil {
		return onnx.Outputs{}, layers.ErrUnfitted
	}
	c := m.sizes.Classes
	p := g.Exp(logProbsONNX(g, m.sizes))
	bins := newStepsONNX(g, m.classes, 1).bin(p)
	top := g.Node("ArgMax", []onnx.Value{p}, onnx.Int("axis", 1), onnx.Int("keepdims", 1), onnx.Int("select_last_index", 0))
	all := make([]int64, c)
	for k := range all {
		all[k] = int64(k)
	}
	is := g.Node("Equal", []onnx.Value{onnx.Table(g, all, 1, c), top}) // N×C
	zero, one := g.Scalar(0), g.Scalar(1)
	frequency := g.Sum(g.Where(is, bins, zero), 1, 1)
	others := g.Where(is, zero, p)
	rest := g.Sum(others, 1, 1)
	some := g.Node("Greater", []onnx.Value{rest, zero})
	shared := g.Where(some, g.Div(others, g.Where(some, rest, one)), g.Scalar(1/float64(c-1)))
	replaced := g.Where(is, frequency, g.Mul(shared, g.Sub(one, frequency)))
	seen := g.Node("GreaterOrEqual", []onnx.Value{frequency, zero}) // a class never seen on top has −1
	return onnx.Outputs{Probabilities: sharesONNX(g, g.Where(seen, replaced, p), c), Classes: c}, nil
}

// ONNX adds the trees to βℓ. An edge among the scores lies higher by sameScore, as ONNX Runtime may
// find a row's score above the same of a calibration row.
func (m *Boosted) ONNX(g *onnx.Network) (onnx.Outputs, error) {
	if m.w == nil {
		return onnx.Outputs{}, layers.ErrUnfitted
	}
	scores := g.Mul(logProbsONNX(g, m.sizes), g.Scalar(m.w.Float64s("boosted/inverse_temperature")[0]))
	out := onnx.Outputs{LogProbs: scores, Classes: m.sizes.Classes}
	if len(m.trees) == 0 {
		return out, nil
	}
	shape := m.w.Tensor("boosted/columns").Shape() // R×D
	rounds, depth := shape[0], shape[1]
	columns, edges := make([]int64, rounds*depth), slices.Clone(m.w.Float64s("boosted/edges"))
	for at, j := range m.w.Float64s("boosted/columns") {
		if columns[at] = int64(j); int(j) >= m.sizes.Features {
			edges[at] += sameScore * math.Abs(edges[at])
		}
	}
	bits := make([]int64, depth)
	for l := range bits {
		bits[l] = 1 << (depth - 1 - l)
	}
	seen := g.Node("Gather", []onnx.Value{g.Concat(1, g.Features(m.sizes.Features), scores), onnx.Table(g, columns, len(columns))}, onnx.Int("axis", 1))
	above := g.Cast(g.Node("Greater", []onnx.Value{seen, onnx.Table(g, edges, 1, len(edges))}), onnx.Int64)
	leaves := g.Sum(g.Mul(g.Reshape(above, -1, int64(rounds), int64(depth)), onnx.Table(g, bits, depth)), 2, 0) // N×R
	values := onnx.Table(g, m.w.Float64s("boosted/values"), rounds<<depth, m.sizes.Classes)
	out.LogProbs = g.Add(scores, g.TableSum(values, leaves, rounds, 1<<depth))
	return out, nil
}

// ONNX says why there is no network.
func (*remembering) ONNX(*onnx.Network) (onnx.Outputs, error) { return onnx.Outputs{}, errNeighbours }

// ONNX says why there is no network.
func (*proximal) ONNX(*onnx.Network) (onnx.Outputs, error) { return onnx.Outputs{}, errNeighbours }

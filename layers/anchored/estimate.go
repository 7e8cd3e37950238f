package anchored

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"calibra/graph"
	"calibra/graph/work"
	"calibra/layers"
	"calibra/optim"
	"calibra/optim/estimate"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// estimated is the weights θ of a map as its fit found them, and how far other rows would have moved
// them. A product F v takes what v moves the scores by, a central difference, which of a map linear in
// θ is exact but for rounding, and the gradient of the scores' product with a matrix.
type estimated struct {
	before   *estimated     // of the map that this one leaves as it was; nil where there is none
	weights  *graph.Weights // float64; those of this fit are learned
	theta    way            // their values, and of what is before
	penalty  []float64      // the diagonal of Λ
	rows     layers.Observed
	says     *graph.Function
	residual *mat.Dense    // 1[y = j] − q_j
	shares   *mat.Dense    // q, N×C
	pull     *tensor.Dense // G, N×C
	pulled   *graph.Objective
	scale    []float64 // about the square roots of F's diagonal
	certain  []float64 // 1 − h of each row
	err      error     // of the graphs; what they give then is 0
}

// way is a direction of weights, by name.
type way map[string][]float64

// newEstimate is that of weights w of m, fitted to the rows observed.
func newEstimate(m layers.Map, s layers.Sizes, w *graph.Weights, observed layers.Observed, rows *layers.Rows) (*estimated, error) {
	own, err := layers.StartMap(m, s, rand.New(rand.NewPCG(0, 0)))
	if err != nil {
		return nil, err
	}
	p := posterior{weights: own.As(tensor.Float64)}
	p.from(w)
	e := &estimated{weights: p.weights, theta: way{}, rows: observed}
	if before := restsOn(m); before != nil {
		if e.before, err = newEstimate(before, s, w, observed, rows); err != nil {
			return nil, err
		}
		for name := range e.before.theta {
			e.theta[name] = e.weights.Float64s(name)
		}
	}
	for _, name := range e.weights.Learned() {
		e.theta[name] = e.weights.Float64s(name)
		precision := 0.0
		for _, spread := range spreadsOf(m) {
			if slices.Contains(spread.Of, name) {
				precision = 1
			}
		}
		e.penalty = append(e.penalty, slices.Repeat([]float64{precision}, len(e.theta[name]))...)
	}
	describe := layers.LogProbsOf(m)
	if scored, ok := m.(Scored); ok {
		describe = func(b *graph.Builder, in layers.Batch) *gorgonia.Node { return in.Mask(b, scored.Scores(b, in)) }
	}
	e.says = rows.Function(e.weights, describe)
	e.pull = tensor.New(tensor.Of(tensor.Float64), tensor.WithShape(rows.Len(), s.Classes))
	e.pulled = graph.NewObjective(e.weights, func(b *graph.Builder) *gorgonia.Node {
		return b.NLL(describe(b, rows.Batch(b)), b.Take("pull", e.pull)) // −(1/B) Σ G ⊙ scores
	})
	e.shares = layers.LogSoftmax(mat.NewDense(rows.Len(), s.Classes, e.said()))
	e.shares.Apply(func(_, _ int, l float64) float64 { return math.Exp(l) }, e.shares)
	e.residual = mat.NewDense(rows.Len(), s.Classes, nil)
	e.residual.Scale(-1, e.shares)
	for i, y := range observed.Labels {
		e.residual.Set(i, y, 1-e.shares.At(i, y))
	}
	return e, e.err
}

// said is the scores of the calibration rows (N×C).
func (e *estimated) said() []float64 {
	out, err := e.says.Tables(len(e.rows.Labels), layers.EvaluationBatch)
	if err != nil {
		e.err = err
		return make([]float64, len(e.pull.Float64s()))
	}
	return out[0].Float64s()
}

// stepOf is how far ways are gone for a central difference.
func stepOf(ways ...way) float64 {
	most := 0.0
	for _, w := range ways {
		for _, values := range w {
			most = max(most, floats.Norm(values, math.Inf(1)))
		}
	}
	return 1e-6 / cmp.Or(most, 1)
}

// move sets the weights to θ + step·w.
func (e *estimated) move(w way, step float64) {
	for name, values := range w {
		moved := slices.Clone(e.theta[name])
		floats.AddScaled(moved, step, values)
		e.weights.SetValues(name, moved)
	}
}

// along is what w moves the scores by (N×C).
func (e *estimated) along(w way) []float64 {
	step := stepOf(w)
	e.move(w, -step)
	behind := e.said()
	e.move(w, step)
	ahead := e.said()
	e.move(w, 0)
	floats.Sub(ahead, behind)
	floats.Scale(1/(2*step), ahead)
	return ahead
}

// weighed turns what moves the scores into (diag q − qqᵀ) times it, times the counts of the rows.
func (e *estimated) weighed(moves []float64) {
	_, c := e.shares.Dims()
	for i := range e.rows.Labels {
		q, move := e.shares.RawRowView(i), moves[i*c:][:c]
		mean := floats.Dot(q, move)
		for j := range move {
			move[j] = e.rows.Count(i) * q[j] * (move[j] - mean)
		}
	}
}

// gradient is Σ_i Σ_j G_ij ∂score_ij/∂θ of the learned weights, laid end to end.
func (e *estimated) gradient(g []float64) []float64 {
	sum := make([]float64, len(e.penalty))
	if e.err != nil {
		return sum
	}
	copy(e.pull.Float64s(), g)
	n := len(e.rows.Labels)
	for lo := 0; lo < n; lo += layers.EvaluationBatch {
		rows := graph.Rows(lo, min(lo+layers.EvaluationBatch, n))
		_, grads, err := e.pulled.Gradient(rows)
		if err != nil {
			e.err = err
			return sum
		}
		at := 0
		for _, grad := range grads {
			values := grad.Float64s()
			floats.AddScaled(sum[at:at+len(values)], -float64(len(rows)), values)
			at += len(values)
		}
	}
	return sum
}

// way is a vector of the learned weights by name.
func (e *estimated) way(v []float64) way {
	w := way{}
	for _, name := range e.weights.Learned() {
		n := len(e.theta[name])
		w[name], v = v[:n], v[n:]
	}
	return w
}

// prior adds Λ^½ ε′ to v.
func (e *estimated) prior(v []float64, from noise) {
	parts, at := e.way(v), 0
	for _, name := range e.weights.Learned() {
		for i, eps := range from(name, len(parts[name])) {
			parts[name][i] += e.penalty[at] * eps // the penalty is 0 or 1
			at++
		}
	}
}

// draw is δ ~ N(0, Cov), and of what is before.
func (e *estimated) draw(ctx context.Context, by drawing, from noise) (way, error) {
	n, c := e.shares.Dims()
	pull, eps := mat.NewDense(n, c, nil), from("rows", n)
	for i := range n {
		floats.AddScaled(pull.RawRowView(i), math.Sqrt(e.rows.Count(i))*eps[i]/e.certain[i], e.residual.RawRowView(i))
	}
	var before way
	if e.before != nil {
		var err error
		if before, err = e.before.draw(ctx, by, from); err != nil {
			return nil, err
		}
		moved := e.along(before)
		e.weighed(moved)
		floats.Sub(pull.RawMatrix().Data, moved)
	}
	to := e.gradient(pull.RawMatrix().Data)
	e.prior(to, from)
	w, err := e.solve(ctx, to, by)
	maps.Copy(w, before)
	return w, err
}

// scaleDraws estimate the diagonal of F within a third.
const scaleDraws = 16

// weigh finds the scale and the leverages by a stream of noise.
func (e *estimated) weigh(ctx context.Context, by drawing, stream int) error {
	if e.before != nil { // without its progress
		if err := e.before.weigh(work.WithProgress(ctx, func([]string, float64, float64) {}), by, stream); err != nil {
			return err
		}
	}
	e.scale = make([]float64, len(e.penalty))
	for k := range scaleDraws {
		for i, v := range e.informed(normals(stream, k)) {
			e.scale[i] += v * v / scaleDraws
		}
	}
	for i, square := range e.scale {
		e.scale[i] = math.Sqrt(math.Max(square, 1))
	}
	n, c := e.shares.Dims()
	leverage := make([]float64, n)
	for k := range by.count {
		work.Report(ctx, float64(k)/float64(by.count), "the maps' information")
		w, err := e.solve(ctx, e.informed(by.noise(stream, k)), by)
		if err != nil {
			return err
		}
		moved := e.along(w)
		for i := range leverage {
			s := floats.Dot(e.residual.RawRowView(i), moved[i*c:][:c])
			leverage[i] += s * s / float64(by.count)
		}
	}
	e.certain = make([]float64, n)
	for i, h := range leverage {
		e.certain[i] = 1 - math.Min(h, estimate.LargestLeverage)
	}
	return e.err
}

// informed is a draw of N(0, F).
func (e *estimated) informed(from noise) []float64 {
	n, c := e.shares.Dims()
	pull, eps := make([]float64, n*c), from("classes", n*c)
	for i := range n {
		q, row := e.shares.RawRowView(i), pull[i*c:][:c]
		var sum float64
		for j := range row {
			row[j] = math.Sqrt(e.rows.Count(i)*q[j]) * eps[i*c+j]
			sum += row[j]
		}
		floats.AddScaled(row, -sum, q)
	}
	v := e.gradient(pull)
	e.prior(v, from)
	return v
}

// mostProducts are those of F in a solution at most.
const mostProducts = 1000

// solve is F⁻¹ to.
func (e *estimated) solve(ctx context.Context, to []float64, by drawing) (way, error) {
	x := slices.Clone(to)
	floats.Div(x, e.scale)
	products, status, err := optim.ConjugateGradients{Left: by.left, Products: mostProducts}.Solve(ctx, scaled{e}, x, x)
	switch {
	case e.err != nil:
		return nil, e.err
	case err != nil:
		return nil, fmt.Errorf("interrupted: %w", err)
	case status != optim.Stationary:
		return nil, fmt.Errorf("%d steps did not solve the equations of the covariance; the map is not determined by the rows and its prior", products)
	}
	floats.Div(x, e.scale)
	return e.way(x), nil
}

// scaled is F in the scale of the estimate, in which its diagonal is about 1.
type scaled struct{ *estimated }

// Product writes it times v to dst.
func (e scaled) Product(dst, v []float64) {
	way := make([]float64, len(v))
	floats.DivTo(way, v, e.scale)
	moved := e.along(e.way(way))
	e.weighed(moved)
	for i, gradient := range e.gradient(moved) {
		dst[i] = (gradient + e.penalty[i]*way[i]) / e.scale[i]
	}
}

// Precondition leaves r as it is.
func (scaled) Precondition(dst, r []float64) { copy(dst, r) }

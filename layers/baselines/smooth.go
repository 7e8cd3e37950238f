package baselines

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/onnx"
	"calibra/graph/op"
	"calibra/layers"
	"calibra/optim"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
)

// original is the classifier's own prediction ℓ, the base of every map here.
type original struct{ layers.Original }

// Fit checks that cal can be calibrated on; there is nothing to learn.
func (o *original) Fit(ctx context.Context, cal, val *data.Set, rng *rand.Rand) error {
	if _, err := sizesOf(cal); err != nil {
		return err
	}
	return o.Original.Fit(ctx, cal, val, rng)
}

// View is ℓ of each row.
func (o *original) View(x *data.Set) (*layers.View, error) {
	l, err := logProbsOf(x, o.Sizes())
	return &layers.View{LogProbs: l}, err
}

// Fitted is a map fitted on the classifier's own prediction. It embeds the Result of the
// last fit.
type Fitted struct{ layers.Trained }

// fit minimizes m's loss over cal by a method, L-BFGS where that is nil, from the weights start, or m's own where that
// is nil.
func (f *Fitted) fit(ctx context.Context, m layers.Map, cal *data.Set, start *graph.Weights, method optim.Method, rng *rand.Rand) error {
	f.Trained = layers.Trained{Name: "minimize", Base: &original{}, Map: m, Start: start, By: cmp.Or[optim.Method](method, optim.LBFGS{})}
	return f.Trained.Fit(ctx, cal, nil, rng)
}

// restore reads weights of m.
func (f *Fitted) restore(m layers.Map, s layers.State) error {
	t := layers.Trained{Base: &original{}, Map: m, By: optim.LBFGS{}} // its fit had no weight decay
	if err := t.Restore(s); err != nil {
		return err
	}
	f.Trained = t
	return nil
}

// curved gives a method the closed form of a graph's loss, with its curvature.
type curved struct {
	of optim.Curved
	by optim.Method
}

// Minimize is that of the method.
func (c curved) Minimize(ctx context.Context, p optim.Problem, rng *rand.Rand) (optim.Result, error) {
	p.Curved = c.of
	return c.by.Minimize(ctx, p, rng)
}

// Smooth is a map of the classifier's prediction, fitted to all rows at once. There is nothing to stop early:
// validation rows are not looked at.
type Smooth struct {
	Fitted

	title  string // names a failed fit
	of     layers.Map
	method optim.Method // nil: L-BFGS
	needs  []need
	begin  beginning // nil: the rows say nothing of how a fit begins
}

// beginning sets what the rows of a fit say of the weights that the map starts with, and may give it another method
// than the one that was asked for.
type beginning func(cal *data.Set, w *graph.Weights) (optim.Method, error)

var _ layers.Stateful = (*Smooth)(nil)

func (s *Smooth) Fit(ctx context.Context, cal, _ *data.Set, rng *rand.Rand) error {
	sizes, err := sizesOf(cal, s.needs...)
	if err != nil {
		return wrap(s.title, err)
	}
	start, err := s.of.Init(sizes, rng)
	if err != nil {
		return wrap(s.title, err)
	}
	method := s.method
	if s.begin != nil {
		own, err := s.begin(cal, start)
		if err != nil {
			return wrap(s.title, err)
		}
		method = cmp.Or(own, method)
	}
	return wrap(s.title, s.fit(ctx, s.of, cal, start, method, rng))
}

// Restore sets the weights of the map.
func (s *Smooth) Restore(state layers.State) error { return s.restore(s.of, state) }

// oneVsRest describes the log-posterior of logistic scores s, one for each class,
//
//	posterior_k ∝ σ(s_k)
//
// normalized in logarithms, so it exists for all finite scores.
func oneVsRest(b *graph.Builder, scores *gorgonia.Node) *gorgonia.Node {
	// log σ(s) = −softplus(−s)
	return b.LogSoftmax(b.Apply(op.Scale(2, -1), b.Apply(op.Softplus(2), b.Apply(op.Scale(2, -1), scores))))
}

// oneVsRestLoss describes mean_i Σ_k [softplus(s_ik) − s_ik 1[y_i = k]], or of targets T the mean
// of Σ_k [w_i softplus(s_ik) − s_ik T_ik] with w_i = Σ_k T_ik.
func oneVsRestLoss(b *graph.Builder, scores *gorgonia.Node, in layers.Batch) *gorgonia.Node {
	return eachAndLabel(b, b.Apply(op.Softplus(2), in.Mask(b, scores)), scores, in) // 0 of a class that cannot be
}

// eachAndLabel describes the mean over the rows of w_i Σ_k each_ik − Σ_k label_ik T_ik, T_ik = 1[y_i = k] of labels
// without weights.
func eachAndLabel(b *graph.Builder, each, label *gorgonia.Node, in layers.Batch) *gorgonia.Node {
	labels := in.Labels(b)
	if b.Err() != nil {
		return nil
	}
	if labels.Dims() == 2 {
		c := each.Shape()[1]
		weight := b.MatMul(labels, b.Table("one_column", graph.Tensor(b.Dtype(), ones(c), c, 1))) // B×1
		each = b.Times(each, b.MatMul(weight, b.Table("one_row", graph.Tensor(b.Dtype(), ones(c), 1, c))))
	}
	rows := float64(len(b.RowNumbers()))
	all := b.Apply(op.Scale(0, 1/rows), b.Apply(op.Sum(2), each))
	return b.Plus(all, b.NLL(label, labels)) // NLL picks −label_y of each row
}

// probabilityFloor is what the maps of log p̂ add to p̂ before the logarithm. With this
// number the reference values of Dirichlet calibration are met to 1e-9, and to no
// better than 1e-4 with a clamp or another one.
const probabilityFloor = 1e-12

// floored is log(p̂ + 1e-12) of ℓ, 0 of a class that cannot be.
func floored(l *mat.Dense) *mat.Dense {
	var out mat.Dense
	out.Apply(func(_, _ int, v float64) float64 {
		if data.Masked(v) {
			return 0
		}
		return math.Log(math.Exp(v) + probabilityFloor)
	}, l)
	return &out
}

// flooredONNX is log(e^ℓ + 1e-12), 0 of a class that cannot be.
func flooredONNX(g *onnx.Network, l onnx.Value) onnx.Value {
	return g.Unmasked(g.Log(g.Add(g.Exp(l), g.Scalar(probabilityFloor))), 0)
}

func ones(n int) []float64 { return slices.Repeat([]float64{1}, n) }

// identity is the n×n identity, row by row.
func identity(n int) []float64 {
	x := make([]float64, n*n)
	for i := range n {
		x[i*n+i] = 1
	}
	return x
}

// wrap names the method that failed to fit.
func wrap(method string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("baselines: fit %s: %w", method, err)
}

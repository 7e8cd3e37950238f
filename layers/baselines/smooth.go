package baselines

import (
	"context"
	"fmt"
	"math"
	"time"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/op"
	"calibra/layers"
	"calibra/optim"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// smooth is a calibration map with a smooth loss over all rows.
type smooth interface {
	// weights are those that a fit starts from, in float64.
	weights(s layers.Sizes) *graph.Weights
	// inputs are the matrices of N rows that the graph reads, from ℓ (N×C), which it
	// may overwrite, and the set; w holds the state that is not learned.
	inputs(l *mat.Dense, x *data.Set, w *graph.Weights) ([]*mat.Dense, error)
	// scores describes the scores of a batch of inputs (B×C).
	scores(b *graph.Builder, in gorgonia.Nodes) *gorgonia.Node
	// logProbs describes the posterior of the scores.
	logProbs(b *graph.Builder, scores *gorgonia.Node) *gorgonia.Node
	// loss describes the mean loss of the scores, n rows being fitted in all.
	loss(b *graph.Builder, scores, labels *gorgonia.Node, n int) *gorgonia.Node
}

// minimizer is an algorithm of package optim with its settings.
type minimizer func(context.Context, optim.Problem) (optim.Result, error)

func lbfgs(s optim.LBFGSSettings) minimizer {
	return func(ctx context.Context, p optim.Problem) (optim.Result, error) { return optim.LBFGS(ctx, p, s) }
}

// Fitted is what a smooth map learned.
type Fitted struct {
	Result optim.Result // of the last Fit

	time  time.Duration
	sizes layers.Sizes
	w     *graph.Weights
}

// fit minimizes m's loss over cal from the weights start, or m's own where that is nil.
// An interrupted fit keeps what it learned.
func (f *Fitted) fit(ctx context.Context, m smooth, cal *data.Set, start *graph.Weights, minimize minimizer) error {
	began := time.Now()
	sizes, err := sizesOf(cal)
	if err != nil {
		return err
	}
	if start == nil {
		start = m.weights(sizes)
	}
	l, err := logProbsOf(cal, sizes)
	if err != nil {
		return err
	}
	in, err := m.inputs(l, cal, start)
	if err != nil {
		return err
	}
	tables, labels := tablesOf(in), graph.Labels(cal.Labels)
	loss := graph.NewObjective(start, func(b *graph.Builder) *gorgonia.Node {
		return m.loss(b, m.scores(b, tables.take(b)), b.Take("labels", labels), cal.Len())
	})
	r, err := minimize(ctx, optim.Problem{Loss: loss, Rows: cal.Len()})
	if err != nil && ctx.Err() == nil {
		return err
	}
	f.Result, f.time, f.sizes, f.w = r, time.Since(began), sizes, start
	return err
}

// Stages tells how the fit ended.
func (f *Fitted) Stages() []layers.Stage {
	return []layers.Stage{{Name: "minimize", Result: f.Result, Time: f.time}}
}

// predictionBatch is how many rows are predicted at once.
const predictionBatch = 1024

func (f *Fitted) predict(m smooth, x *data.Set) (*data.Predictions, error) {
	l, err := logProbsOf(x, f.sizes)
	if err != nil {
		return nil, err
	}
	in, err := m.inputs(l, x, f.w)
	if err != nil {
		return nil, err
	}
	tables, c := tablesOf(in), f.sizes.Classes
	out := mat.NewDense(x.Len(), c, nil)
	posterior := graph.NewFunction(f.w, func(b *graph.Builder) gorgonia.Nodes {
		return gorgonia.Nodes{m.logProbs(b, m.scores(b, tables.take(b)))}
	})
	err = posterior.Each(x.Len(), predictionBatch, func(lo int, outputs []gorgonia.Value) error {
		copy(out.RawMatrix().Data[lo*c:], graph.Float64s(outputs[0]))
		return nil
	})
	if err != nil {
		return nil, err
	}
	return data.NewPredictions(out, x.Labels)
}

// tables are a map's inputs in the memory that graphs read.
type tables []*tensor.Dense

func tablesOf(inputs []*mat.Dense) tables {
	var t tables
	for _, x := range inputs {
		t = append(t, graph.Matrix(tensor.Float64, x))
	}
	return t
}

func (t tables) take(b *graph.Builder) gorgonia.Nodes {
	var in gorgonia.Nodes
	for i, x := range t {
		in = append(in, b.Take(fmt.Sprintf("inputs/%d", i), x))
	}
	return in
}

func (f *Fitted) state() (layers.State, error) { return stateOf(f.sizes, f.w) }

func (f *Fitted) restore(m smooth, s layers.State) error {
	sizes, err := readSizes(s.Config)
	if err != nil {
		return err
	}
	if s.Weights.Has("embedding/mean") {
		if err := requireLength(s.Weights, "embedding/mean", sizes.Features); err != nil {
			return err
		}
	}
	if err := s.Weights.Require(m.weights(sizes).Shapes()); err != nil {
		return err
	}
	f.sizes, f.w = sizes, s.Weights
	return nil
}

// multinomial is the posterior and loss of a map that ends in one softmax.
type multinomial struct{}

func (multinomial) logProbs(b *graph.Builder, scores *gorgonia.Node) *gorgonia.Node {
	return b.LogSoftmax(scores)
}

func (multinomial) loss(b *graph.Builder, scores, labels *gorgonia.Node, _ int) *gorgonia.Node {
	return b.NLL(b.LogSoftmax(scores), labels)
}

// oneVsRest is the posterior and loss of a map with a logistic score for each class:
//
//	posterior_k ∝ σ(s_k) ,  loss = mean_i Σ_k [softplus(s_ik) − s_ik 1[y_i = k]]
//
// The posterior is normalized in logarithms, so it exists for all finite scores.
type oneVsRest struct{}

func (oneVsRest) logProbs(b *graph.Builder, scores *gorgonia.Node) *gorgonia.Node {
	// log σ(s) = −softplus(−s)
	return b.LogSoftmax(b.Apply(op.Scale(2, -1), b.Apply(op.Softplus(2), b.Apply(op.Scale(2, -1), scores))))
}

func (oneVsRest) loss(b *graph.Builder, scores, labels *gorgonia.Node, _ int) *gorgonia.Node {
	rows := float64(len(b.RowNumbers()))
	all := b.Apply(op.Scale(0, 1/rows), b.Apply(op.Sum(2), b.Apply(op.Softplus(2), scores)))
	return b.Plus(all, b.NLL(scores, labels)) // NLL picks −s_y of each row
}

// penalty describes c·Σ x² of a weight.
func penalty(b *graph.Builder, weight string, c float64) *gorgonia.Node {
	x := b.Weight(weight)
	if b.Err() != nil {
		return nil
	}
	return b.Apply(op.Scale(0, c), b.Apply(op.Sum(x.Dims()), b.Times(x, x)))
}

// probabilityFloor is what the maps of log p̂ add to p̂ before the logarithm. With this
// number the reference values of Dirichlet calibration are met to 1e-9, and to no
// better than 1e-4 with a clamp or another one.
const probabilityFloor = 1e-12

// floored turns ℓ into log(p̂ + 1e-12), in place.
func floored(l *mat.Dense) *mat.Dense {
	l.Apply(func(_, _ int, v float64) float64 { return math.Log(math.Exp(v) + probabilityFloor) }, l)
	return l
}

func ones(n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = 1
	}
	return x
}

// identity is the n×n identity, row by row.
func identity(n int) []float64 {
	x := make([]float64, n*n)
	for i := range n {
		x[i*n+i] = 1
	}
	return x
}

// wrap says which method failed to fit.
func wrap(method string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("baselines: fit %s: %w", method, err)
}

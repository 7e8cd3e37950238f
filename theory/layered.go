package theory

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"

	"calibra/graph"
	"calibra/graph/op"
	"calibra/layers"
	"calibra/optim/estimate"
	"calibra/theory/internal/numeric"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// layered is a calibration layer on a table: the loss and its derivatives are
// those of the Gorgonia graph that is trained, in float64. θ is the layer's
// learned weights in order, each read row by row.
//
// Gorgonia gives the gradient exactly; the Hessian is its fourth-order central
// difference, column by column. Where the layer is the paper's, the analytic loss
// leads the descent to where it is stationary and its Hessian serves as Newton
// matrix; both decide how fast a stationary point of the graph's loss is reached,
// not where it is: a descent ends when the graph's own gradient vanishes.
type layered struct {
	layer   layers.Map
	table   *Table
	sizes   layers.Sizes
	weights *graph.Weights
	shares  *tensor.Dense   // rows × C, those of the loss; see weigh
	loss    *graph.Function // of rows, (cell, atom): L, log q and ∇L

	analytic  Model         // nil: no analytic Hessian of this layer is known
	reference *mat.SymDense // without analytic: a Hessian near the optimum

	err error // why the layer cannot be run
}

var _ Model = (*layered)(nil)

// newLayered compiles layer on a table whose cells all have w codes. A layer that cannot be run returns an error
// at its first use.
func newLayered(layer layers.Map, t *Table) *layered {
	m := &layered{layer: layer, table: t, sizes: t.Sizes()}
	m.shares = graph.Tensor(tensor.Float64, make([]float64, t.Rows()*t.Classes), t.Rows(), t.Classes)
	if m.weights, m.err = layers.StartMap(layer, m.sizes, newRand(0)); m.err != nil {
		m.err = fmt.Errorf("theory: start the layer: %w", m.err)
		m.weights = graph.NewWeights(tensor.Float64)
	} else if m.weights.Size() == 0 {
		m.err = errors.New("theory: the layer has no learned weight, so there is no rate to study")
	} else {
		m.loss = m.describe(t.Rows())
		if _, err := m.loss.Program(t.Rows()); err != nil {
			m.err = fmt.Errorf("theory: the map %s: %w", layers.NameOf(layer), err)
		}
	}
	return m
}

// describe is L = Σ (−W)·log q of rows, with log q and the gradient; of a Costed layer its own loss, fitted to as many
// rows as it is told.
func (m *layered) describe(told int) *graph.Function {
	rows := m.table.View(1).Rows(tensor.Float64, m.sizes)
	return graph.NewFunction(m.weights, func(b *graph.Builder) gorgonia.Nodes {
		in := rows.Batch(b)
		logq := layers.LogProbsOf(m.layer)(b, in)
		weights := b.Take("theory/weights", m.shares)
		var loss *gorgonia.Node
		if costed, ok := m.layer.(layers.Costed); ok {
			loss = costed.Loss(b, in.Toward(weights), told)
		} else {
			loss = b.Apply(op.Sum(2), b.Times(logq, weights))
		}
		return append(gorgonia.Nodes{loss, logq}, b.Gradient(loss)...)
	})
}

// weigh makes the weights W of the loss of so many rows those of the graph: −W, or targets, of which a loss is the
// mean over rows. They are of all rows or, from the first of at, of fewer.
func (m *layered) weigh(at, rows int, weights []float64) {
	by := -1.0
	if _, ok := m.layer.(layers.Costed); ok {
		by = float64(rows)
	}
	floats.ScaleTo(m.shares.Float64s()[at*m.sizes.Classes:][:len(weights)], by, weights)
}

// alone is an error where the loss of a Costed layer depends on how many rows it is fitted to, so that each N would
// have a limit of its own.
func (m *layered) alone() error {
	costed, ok := m.layer.(layers.Costed)
	if !ok || m.err != nil {
		return m.err
	}
	theta, err := m.draw(0.5, newRand(0)) // away from a start where a penalty is 0
	if err != nil {
		return err
	}
	only := make([]float64, m.sizes.Classes)
	only[0] = 1
	m.weigh(0, 1, only)
	var losses []float64
	for _, told := range []int{1, 1e6} {
		loss, _, err := m.run(m.describe(told), graph.Rows(0, 1), nil, theta)
		if err != nil {
			return err
		}
		losses = append(losses, loss)
	}
	if losses[0] != losses[1] {
		return fmt.Errorf("theory: the loss of %s changes with the number of rows, so that each N has a limit of its own; give it a penalty that does not", layers.NameOf(costed))
	}
	return nil
}

func (m *layered) Fork() Model {
	other := newLayered(m.layer, m.table)
	other.reference = m.reference
	if m.analytic != nil {
		other.analytic = m.analytic.Fork()
	}
	return other
}

func (m *layered) Dim() int { return m.weights.Size() }

// run evaluates the graph of some rows at theta, gives their loss and log q, and copies the gradient, if it is wanted.
func (m *layered) run(
	of *graph.Function, rows []int32, grad, theta []float64,
) (loss float64, logq []float64, err error) {
	if m.err != nil {
		return 0, nil, m.err
	}
	m.weights.SetVector(theta)
	out, err := of.Of(rows)
	if err != nil {
		return 0, nil, fmt.Errorf("theory: run the layer: %w", err)
	}
	loss, logq = graph.Float64s(out[0])[0], out[1].(*tensor.Dense).Float64s()
	if err := finite("loss", loss); err != nil {
		return 0, nil, err
	}
	if grad == nil {
		return loss, logq, nil
	}
	all := grad
	for _, of := range out[2:] {
		grad = grad[copy(grad, of.(*tensor.Dense).Float64s()):]
	}
	return loss, logq, finite("gradient", all...)
}

// every is all rows.
func (m *layered) every() []int32 { return graph.Rows(0, m.table.Rows()) }

func (m *layered) LogProbs(dst, theta []float64) error {
	_, logq, err := m.run(m.loss, m.every(), nil, theta)
	if err != nil {
		return err
	}
	copy(dst, logq)
	return finite("log-probabilities", dst...)
}

func (m *layered) Gradient(grad, theta, weights []float64) (float64, error) {
	m.weigh(0, m.table.Rows(), weights)
	loss, _, err := m.run(m.loss, m.every(), grad, theta)
	return loss, err
}

// Hessian differences the graph's gradient.
func (m *layered) Hessian(hess *mat.SymDense, theta, weights []float64) error {
	grad := make([]float64, len(theta))
	h, err := estimate.Hessian(slices.Clone(theta), func(sum []float64, scale float64, theta []float64) error {
		_, err := m.Gradient(grad, theta, weights)
		floats.AddScaled(sum, scale, grad)
		return err
	})
	if err == nil {
		hess.CopySym(h)
	}
	return err
}

// Scores sums W ∇ℓ ∇ℓᵀ over single rows, each differentiated by the graph.
func (m *layered) Scores(outer *mat.SymDense, theta, weights []float64) error {
	outer.Zero()
	grad := make([]float64, len(theta))
	g := mat.NewVecDense(len(grad), grad)
	for entry, w := range weights {
		if w == 0 {
			continue
		}
		if err := m.Score(grad, theta, entry); err != nil {
			return err
		}
		outer.SymRankOne(outer, w, g)
	}
	return nil
}

// Score differentiates a single row.
func (m *layered) Score(grad, theta []float64, entry int) error {
	row, only := entry/m.sizes.Classes, make([]float64, m.sizes.Classes)
	only[entry%m.sizes.Classes] = 1
	m.weigh(row, 1, only)
	_, _, err := m.run(m.loss, []int32{int32(row)}, grad, theta)
	return err
}

func (m *layered) Newton(grad []float64, hess *mat.SymDense, theta, weights []float64) (loss float64, err error) {
	switch {
	case m.analytic != nil:
		err = m.analytic.Hessian(hess, theta, weights)
	case m.reference != nil:
		hess.CopySym(m.reference)
	default:
		err = m.Hessian(hess, theta, weights)
	}
	if err != nil {
		return 0, err
	}
	return m.Gradient(grad, theta, weights)
}

// renew takes the Hessian at theta for Newton matrix.
func (m *layered) renew(theta, weights []float64) error {
	if m.reference == nil {
		return nil // curved computes it at every step
	}
	hess := mat.NewSymDense(len(theta), nil)
	if err := m.Hessian(hess, theta, weights); err != nil {
		return err
	}
	m.reference = hess
	return nil
}

func (m *layered) Cheapest() Model {
	if m.analytic == nil {
		return m
	}
	return m.analytic
}

// precondition offers a Hessian near the optimum as Newton matrix.
func (m *layered) precondition(h *mat.SymDense) { m.reference = h }

// generative is the bilinear layer of Proposition 2 as printed: δ = 0, nothing added
// to the linear term.
type generative struct{ layers.Bilinear }

var _ layers.Map = generative{}

func (m generative) LogProbs(b *graph.Builder, in layers.Batch) *gorgonia.Node {
	return b.LogSoftmax(b.Apply(op.DirichletScores(0), m.Form(b, in), in.LogProbs))
}

// paper is the layer of the main job, with the prior and σ² fixed as the studies suppose.
var paper = layers.Bilinear{Prior: layers.UniformPrior{}}

// Paper is the paper's layer on the table, δ being identity: what the studies put to the test.
func (t *Table) Paper(identity float64) Model {
	if identity == 0 {
		return modelOf(generative{paper}, t)
	}
	return modelOf(paper, t)
}

// modelOf is the loss of a map, with that by hand where the map is the paper's.
func modelOf(layer layers.Map, t *Table) *layered {
	m := newLayered(layer, t)
	for identity, known := range []layers.Map{generative{paper}, paper} {
		if reflect.DeepEqual(layer, known) {
			m.analytic = t.ByHand(float64(identity))
		}
	}
	return m
}

// settle is the pseudo-true θ* under the weights, from a point near it. A gauge that is nil is found.
func settle(model Model, gauge Gauge, from, weights []float64) ([]float64, error) {
	theta := slices.Clone(from)
	if gauge == nil {
		found, err := (&Loss{Model: model, Weights: weights}).nullSpace(theta)
		if err != nil && err != errNoMinimum {
			return nil, err
		}
		gauge = found
	}
	if err := Fit(model, gauge, theta, weights); err != nil {
		return nil, fmt.Errorf("theory: the law has no optimum near the map's truth; lower what disturbs it: %w", err)
	}
	return theta, nil
}

// draw returns the layer's start plus N(0, spread²).
func (m *layered) draw(spread float64, rng *rand.Rand) ([]float64, error) {
	if m.err != nil {
		return nil, m.err
	}
	start, err := layers.StartMap(m.layer, m.sizes, rng)
	if err != nil {
		return nil, fmt.Errorf("theory: start the layer: %w", err)
	}
	theta := start.Vector()
	floats.AddScaled(theta, spread, numeric.Normals(len(theta), rng))
	return theta, nil
}

// rows is the default Target: what belongs to each codeword, then the rest. A layer
// without K-rowed weights has one block.
func (m *layered) rows() Rows {
	K, at := m.sizes.Codewords, 0
	blocks := make(Rows, K+1)
	for _, name := range m.weights.Learned() {
		shape := m.weights.Tensor(name).Shape()
		total := shape.TotalSize()
		for i := range total {
			k := K
			if shape[0] == K {
				k = i / (total / K)
			}
			blocks[k] = append(blocks[k], at+i)
		}
		at += total
	}
	return slices.DeleteFunc(blocks, func(block []int) bool { return block == nil })
}

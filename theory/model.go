package theory

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"calibra/optim/estimate"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Model is a calibrator's loss on a finite table, as a function of its flattened
// parameters θ. weights W has one entry per (cell, atom, label); L is −Σ W log q or, for a
// [layers.Costed] map, its own loss with its penalty, where W are the weights of the labels.
// An implementation may keep scratch memory: one Model per goroutine (fork).
type Model interface {
	// Dim is the number of parameters.
	Dim() int
	// LogProbs fills dst, cells × R × C, with log q(· | cell, atom; θ).
	LogProbs(dst, theta []float64) error
	// Gradient fills grad with ∇L(θ) and returns L(θ).
	Gradient(grad, theta, weights []float64) (float64, error)
	// Hessian fills hess with ∇²L(θ).
	Hessian(hess *mat.SymDense, theta, weights []float64) error
	// Scores fills outer with J = Σ W ∇ℓ ∇ℓᵀ, the second moment of the score; ℓ is the loss of one entry, L = Σ W ℓ.
	Scores(outer *mat.SymDense, theta, weights []float64) error
	// Score fills grad with ∇ℓ of one entry, a (cell, atom, label) in the order of weights.
	Score(grad, theta []float64, entry int) error

	// curved is Gradient that fills hess too, with the matrix of a Newton step at theta: the Hessian,
	// or one near it.
	curved(grad []float64, hess *mat.SymDense, theta, weights []float64) (float64, error)
	// cheapest is a cheaper Model of the same loss, as one by hand, or the Model itself.
	cheapest() Model
	fork() Model
}

// probe evaluates a model under weights, each answer in memory of its own. After a failure its answers
// are 0 and err has the reason.
type probe struct {
	model   Model
	weights []float64
	err     error
}

func (p *probe) gradient(theta []float64) (loss float64, grad []float64) {
	grad = make([]float64, p.model.Dim())
	if p.err == nil {
		loss, p.err = p.model.Gradient(grad, theta, p.weights)
	}
	return loss, grad
}

// posteriors are q at every (cell, atom) of the model's table.
func (p *probe) posteriors(t *Table, theta []float64) []float64 {
	q := make([]float64, t.Rows()*t.Classes)
	if p.err == nil {
		p.err = p.model.LogProbs(q, theta)
	}
	exps(q)
	return q
}

// minimize brings theta to where the loss is stationary.
func (p *probe) minimize(gauge Gauge, theta []float64) {
	if p.err == nil {
		p.err = minimize(p.model, gauge, theta, p.weights)
	}
}

// errNoMinimum is of a point whose null space is asked for.
var errNoMinimum = errors.New("theory: the Hessian has a negative curvature, so that its null space does not tell what is free; " +
	"move theta to a minimum by Fit")

// nullSpace is that of the Hessian at theta, which has no negative curvature.
func (p *probe) nullSpace(theta []float64) (NullSpace, error) {
	hess := p.hessian(theta)
	free, _ := estimate.NullSpace(hess)
	if p.err == nil && estimate.InverseOff(hess, free, math.Inf(1)) == nil {
		return NullSpace{}, errNoMinimum
	}
	return NullSpace{slices.Clone(theta), free}, p.err
}

// nullity is how many directions move no posterior of a model that is the law of the labels. There
// ∇²L = Σ W ∇ℓ ∇ℓᵀ (Fisher).
func (p *probe) nullity(theta []float64) int {
	free, _ := estimate.NullSpace(p.scores(theta))
	return len(free)
}

// bendingStep is h of the second differences of a gradient, which is good to 1e-16: an error of 1e-10.
const bendingStep = 1e-3

// bending is the direction ∇(vᵀ∇²L v), times h², in which the curvature along v rises fastest, and that in
// which it falls.
func (p *probe) bending(theta, v []float64) (rises, falls []float64) {
	point := make([]float64, len(theta))
	gradient := func(step float64) []float64 {
		floats.AddScaledTo(point, theta, step, v)
		_, grad := p.gradient(point)
		return grad
	}
	here, ahead, behind := gradient(0), gradient(bendingStep), gradient(-bendingStep)
	floats.AddScaled(ahead, -2, here)
	floats.Add(ahead, behind)
	return ahead, floats.ScaleTo(make([]float64, len(theta)), -1, ahead)
}

// matrix is one that a method of the model fills.
func (p *probe) matrix(fill func(dst *mat.SymDense) error) *mat.SymDense {
	dst := mat.NewSymDense(p.model.Dim(), nil)
	if p.err != nil {
		return dst
	}
	if p.err = fill(dst); p.err != nil {
		dst.Zero()
	}
	return dst
}

// newton is the matrix of a Newton step.
func (p *probe) newton(theta []float64) *mat.SymDense {
	return p.matrix(func(dst *mat.SymDense) error {
		_, err := p.model.curved(make([]float64, len(theta)), dst, theta, p.weights)
		return err
	})
}

func (p *probe) hessian(theta []float64) *mat.SymDense {
	return p.matrix(func(dst *mat.SymDense) error { return p.model.Hessian(dst, theta, p.weights) })
}

func (p *probe) scores(theta []float64) *mat.SymDense {
	return p.matrix(func(dst *mat.SymDense) error { return p.model.Scores(dst, theta, p.weights) })
}

// scoreRows are the rows √W ∇ℓᵀ of the entries (entries × Dim).
func (p *probe) scoreRows(theta []float64) *mat.Dense {
	rows := mat.NewDense(len(p.weights), len(theta), nil)
	for entry, w := range p.weights {
		row := rows.RawRowView(entry)
		if p.err == nil {
			p.err = p.model.Score(row, theta, entry)
		}
		floats.Scale(math.Sqrt(w), row)
	}
	return rows
}

// finite returns an error naming what is not finite, at the place where it appears.
func finite(what string, values ...float64) error {
	for i, x := range values {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("theory: %s is %g at entry %d: the parameters left the range where the loss can be computed", what, x, i)
		}
	}
	return nil
}

// quadratic adds λ/2 ‖θ‖² − εᵀθ to a loss. The ridge is the weight decay of the published training.
// The tilt makes stationary points of those with ∇L = ε: an optimizer that stops early, with a
// residual of our choosing.
type quadratic struct {
	Model
	lambda float64
	tilt   []float64 // ε; nil: 0
}

var _ Model = (*quadratic)(nil)

func (m *quadratic) fork() Model { return &quadratic{m.Model.fork(), m.lambda, m.tilt} }

func (m *quadratic) cheapest() Model {
	if inner := m.Model.cheapest(); inner != m.Model {
		return &quadratic{inner, m.lambda, m.tilt}
	}
	return m
}

func (m *quadratic) Gradient(grad, theta, weights []float64) (float64, error) {
	loss, err := m.Model.Gradient(grad, theta, weights)
	return loss + m.penalty(grad, theta), err
}

// curved is of a layer by hand, and of the layer's graph in two passes.
func (m *quadratic) curved(grad []float64, hess *mat.SymDense, theta, weights []float64) (float64, error) {
	loss, err := m.Model.curved(grad, hess, theta, weights)
	m.addRidge(hess)
	return loss + m.penalty(grad, theta), err
}

func (m *quadratic) Hessian(hess *mat.SymDense, theta, weights []float64) error {
	err := m.Model.Hessian(hess, theta, weights)
	m.addRidge(hess)
	return err
}

// penalty adds its gradient.
func (m *quadratic) penalty(grad, theta []float64) float64 {
	floats.AddScaled(grad, m.lambda, theta)
	loss := m.lambda / 2 * floats.Dot(theta, theta)
	if m.tilt != nil {
		floats.Sub(grad, m.tilt)
		loss -= floats.Dot(m.tilt, theta)
	}
	return loss
}

func (m *quadratic) addRidge(hess *mat.SymDense) {
	for i := range hess.SymmetricDim() {
		hess.SetSym(i, i, hess.At(i, i)+m.lambda)
	}
}

// Scores is the covariance of ∇ℓ. At a stationary point of a ridge E∇ℓ = −λθ, so it is the
// second moment less λ²θθᵀ.
func (m *quadratic) Scores(outer *mat.SymDense, theta, weights []float64) error {
	err := m.Model.Scores(outer, theta, weights)
	outer.SymRankOne(outer, -m.lambda*m.lambda, mat.NewVecDense(len(theta), theta))
	return err
}

// Score is that of the loss, plus the penalty's gradient.
func (m *quadratic) Score(grad, theta []float64, entry int) error {
	err := m.Model.Score(grad, theta, entry)
	m.penalty(grad, theta)
	return err
}

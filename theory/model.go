package theory

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"calibra/optim/estimate"

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

// Fit brings theta to where the loss is stationary.
func (p *probe) Fit(gauge Gauge, theta []float64) {
	if p.err == nil {
		p.err = Fit(p.model, gauge, theta, p.weights)
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

// finite returns an error naming what is not finite, at the place where it appears.
func finite(what string, values ...float64) error {
	for i, x := range values {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("theory: %s is %g at entry %d: the parameters left the range where the loss can be computed", what, x, i)
		}
	}
	return nil
}

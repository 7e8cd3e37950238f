package theory

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"calibra/optim/estimate"
	"calibra/theory/internal/numeric"

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

	// Newton is Gradient that fills hess too, with the matrix of a Newton step at theta: the Hessian,
	// or one near it.
	Newton(grad []float64, hess *mat.SymDense, theta, weights []float64) (float64, error)
	// Cheapest is a cheaper Model of the same loss, as one by hand, or the Model itself.
	Cheapest() Model
	Fork() Model
}

// Loss evaluates a model under weights, each answer in memory of its own. After a failure its answers
// are 0 and err has the reason.
type Loss struct {
	Model   Model
	Weights []float64
	Err     error
}

// Gradient is L and ∇L.
func (p *Loss) Gradient(theta []float64) (loss float64, grad []float64) {
	grad = make([]float64, p.Model.Dim())
	if p.Err == nil {
		loss, p.Err = p.Model.Gradient(grad, theta, p.Weights)
	}
	return loss, grad
}

// Posteriors are q at every (cell, atom) of the model's table.
func (p *Loss) Posteriors(t *Table, theta []float64) []float64 {
	q := make([]float64, t.Rows()*t.Classes)
	if p.Err == nil {
		p.Err = p.Model.LogProbs(q, theta)
	}
	numeric.Exps(q)
	return q
}

// Fit brings theta to where the loss is stationary.
func (p *Loss) Fit(gauge Gauge, theta []float64) {
	if p.Err == nil {
		p.Err = Fit(p.Model, gauge, theta, p.Weights)
	}
}

// errNoMinimum is of a point whose null space is asked for.
var errNoMinimum = errors.New("theory: the Hessian has a negative curvature, so that its null space does not tell what is free; " +
	"move theta to a minimum by Fit")

// nullSpace is that of the Hessian at theta, which has no negative curvature.
func (p *Loss) nullSpace(theta []float64) (NullSpace, error) {
	hess := p.Hessian(theta)
	free, _ := estimate.NullSpace(hess)
	if p.Err == nil && estimate.InverseOff(hess, free, math.Inf(1)) == nil {
		return NullSpace{}, errNoMinimum
	}
	return NullSpace{slices.Clone(theta), free}, p.Err
}

// matrix is one that a method of the model fills.
func (p *Loss) matrix(fill func(dst *mat.SymDense) error) *mat.SymDense {
	dst := mat.NewSymDense(p.Model.Dim(), nil)
	if p.Err != nil {
		return dst
	}
	if p.Err = fill(dst); p.Err != nil {
		dst.Zero()
	}
	return dst
}

// Newton is the matrix of a Newton step.
func (p *Loss) Newton(theta []float64) *mat.SymDense {
	return p.matrix(func(dst *mat.SymDense) error {
		_, err := p.Model.Newton(make([]float64, len(theta)), dst, theta, p.Weights)
		return err
	})
}

// Hessian is H = ∇²L.
func (p *Loss) Hessian(theta []float64) *mat.SymDense {
	return p.matrix(func(dst *mat.SymDense) error { return p.Model.Hessian(dst, theta, p.Weights) })
}

// Scores is J = Σ W ∇ℓ ∇ℓᵀ.
func (p *Loss) Scores(theta []float64) *mat.SymDense {
	return p.matrix(func(dst *mat.SymDense) error { return p.Model.Scores(dst, theta, p.Weights) })
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

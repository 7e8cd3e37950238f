package theory

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Model is a calibrator's loss on a finite table, as a function of its flattened
// parameters θ. weights has one entry per (cell, atom, label); L is −Σ W log q.
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
	// Scores fills outer with J = Σ W ∇ℓ ∇ℓᵀ, the second moment of the score.
	Scores(outer *mat.SymDense, theta, weights []float64) error
	// Score fills grad with ∇ℓ of one entry, a (cell, atom, label) in the order of weights.
	Score(grad, theta []float64, entry int) error

	// curved is Gradient that fills hess too, with the matrix of a Newton step at theta: the Hessian,
	// or one near it.
	curved(grad []float64, hess *mat.SymDense, theta, weights []float64) (float64, error)
	// companion is a cheaper Model of the same loss, to start a descent with; nil if there is none.
	companion() Model
	fork() Model
}

// probe evaluates a model under weights, each answer in memory of its own. After a failure its answers
// are 0 and err says why.
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
	rises, falls = make([]float64, len(theta)), make([]float64, len(theta))
	for i := range rises {
		rises[i] = ahead[i] - 2*here[i] + behind[i]
		falls[i] = -rises[i]
	}
	return rises, falls
}

// newton is the matrix of a Newton step.
func (p *probe) newton(theta []float64) *mat.SymDense {
	hess := mat.NewSymDense(p.model.Dim(), nil)
	if p.err == nil {
		_, p.err = p.model.curved(make([]float64, len(theta)), hess, theta, p.weights)
	}
	return hess
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

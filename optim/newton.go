package optim

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
)

// Curved is a smooth convex function f of a vector x that can also be asked for its curvature.
type Curved interface {
	// Gradient writes ∇f(x) to grad and returns f(x). Product and Precondition are then
	// asked at this x.
	Gradient(grad, x []float64) float64
	// Linear is ∇²f.
	Linear
	// Renew takes the guess P of its inverse anew at this x. It is asked after a step of many products.
	Renew() error
}

// Newton minimizes a [Curved] by the truncated Newton method (Nocedal and Wright
// 2006, algorithm 7.1): each step d solves ∇²f·d = −∇f by preconditioned conjugate
// gradients as far as pays, and is halved until the loss falls (Armijo). It is for losses
// of so many weights that L-BFGS takes hundreds of iterations and no Hessian fits into
// memory.
type Newton struct {
	Gradient   float64 // the ∞-norm of the gradient to reach; 0: 1e-6
	Iterations int     // steps at most; 0: 100
	Products   int     // products with the Hessian for a step at most; 0: 200
}

func (s Newton) withDefaults() (Newton, error) {
	if s.Gradient < 0 || s.Iterations < 0 || s.Products < 0 {
		return s, fmt.Errorf("optim: gradient %g, iterations %d and products %d must be positive", s.Gradient, s.Iterations, s.Products)
	}
	s.Gradient, s.Iterations, s.Products = cmp.Or(s.Gradient, 1e-6), cmp.Or(s.Iterations, 100), cmp.Or(s.Products, 200)
	return s, nil
}

// forcing is the share of the gradient, in the norm of the preconditioner, that a step may leave: exact
// steps far from the optimum are wasted.
const forcing = 0.1

// renewal is after how many products in a step its preconditioner is taken anew: by then
// that guess of the curvature is of another place.
const renewal = 20

var _ Method = Newton{}

// Minimize minimizes p's loss and needs its curvature. If there is none, the error says so.
func (s Newton) Minimize(ctx context.Context, p Problem, _ *rand.Rand) (Result, error) {
	if err := p.check(); err != nil {
		return Result{}, err
	}
	if p.Curved == nil {
		return Result{}, fmt.Errorf("optim: Newton's method needs a loss with its curvature; minimize this one by LBFGS")
	}
	x := p.Loss.Weights().Vector()
	r, err := s.Descend(ctx, p.Curved, x)
	p.Loss.Weights().SetVector(x)
	return r, err
}

// Descend minimizes f from x, in place. A fit that ends before the gradient is as small as asked reports that in Ended
// and has not converged. If ctx is cancelled the best x so far is kept and the error wraps ctx.Err().
func (s Newton) Descend(ctx context.Context, f Curved, x []float64) (Result, error) {
	s, err := s.withDefaults()
	if err != nil {
		return Result{}, err
	}
	size := len(x)
	n := &newton{f: f, x: x, grad: make([]float64, size), step: make([]float64, size), next: make([]float64, size), ahead: make([]float64, size)}
	r := Result{Validation: math.NaN(), GradientNorm: math.NaN()}
	r.Loss = n.f.Gradient(n.grad, n.x)
	equations := ConjugateGradients{Left: forcing, Products: s.Products}
	for {
		r.GradientNorm = largest(n.grad)
		switch {
		case r.Loss-r.Loss != 0 || r.GradientNorm-r.GradientNorm != 0:
			return r, fmt.Errorf("optim: loss or gradient is not finite in iteration %d", r.Epochs)
		case r.GradientNorm < s.Gradient:
			return r.ended(Stationary, smallGradient, r.GradientNorm)
		case r.Epochs >= s.Iterations:
			return r.ended(Limit, allWereRun, s.Iterations, r.GradientNorm, s.Gradient)
		}
		floats.ScaleTo(n.step, -1, n.grad)
		products, _, err := equations.Solve(ctx, n.f, n.step, n.step)
		if err != nil {
			return r.interrupted(err)
		}
		loss, found := n.descend(r.Loss, r.GradientNorm)
		if !found {
			return r.ended(Stalled, noLowerLoss, r.GradientNorm, s.Gradient)
		}
		if products > renewal {
			if err := n.f.Renew(); err != nil {
				return r, fmt.Errorf("optim: iteration %d: %w", r.Epochs, err)
			}
		}
		r.next(ctx, s.Iterations, loss, n.grad)
	}
}

// newton is a fit that runs: where it is, with the gradient and the step there, and where it might be next.
type newton struct {
	f                          Curved
	x, grad, step, next, ahead []float64
}

// descend takes the step, halved until the loss falls (Armijo), from a place of the given loss and
// gradient. It gives the loss there, and false where none lower was found.
func (n *newton) descend(from, norm float64) (float64, bool) {
	slope := floats.Dot(n.step, n.grad)
	for length := 1.0; length > 1e-8; length /= 2 {
		floats.AddScaledTo(n.next, n.x, length, n.step)
		loss := n.f.Gradient(n.ahead, n.next)
		// Near the optimum a loss cannot show its decrease, but its gradient can.
		flat := math.Abs(loss-from) <= 1e-14*math.Abs(from) && largest(n.ahead) < norm
		if loss <= from+wolfeDecrease*length*slope || flat {
			copy(n.x, n.next)
			copy(n.grad, n.ahead)
			return loss, true
		}
	}
	return from, false
}

package optim

import (
	"context"

	"gonum.org/v1/gonum/floats"
)

// Linear is the matrix A of equations A·x = b, symmetric and positive definite, known by its products alone.
type Linear interface {
	// Product writes A·v to dst.
	Product(dst, v []float64)
	// Precondition writes P·r to dst, P a positive definite guess of the inverse of A.
	Precondition(dst, r []float64)
}

// ConjugateGradients solves linear equations by preconditioned conjugate gradients (Nocedal and Wright
// 2006, algorithm 5.3).
type ConjugateGradients struct {
	Left     float64 // the share of b that may be left of it, in the norm of the preconditioner
	Products int     // products with A at most
}

// Solve writes the solution of A·x = b to x, starting from 0, and returns how many products it took. The status is
// Stationary if the residual is small enough, Limit if all products were taken, and Stalled if the curvature along a
// direction is lost in rounding: x is then the solution so far or, along the first direction, that direction itself.
// b stays unchanged unless it is x. An error is ctx's.
func (s ConjugateGradients) Solve(ctx context.Context, a Linear, x, b []float64) (products int, status Status, err error) {
	n := len(b)
	memory := make([]float64, 4*n)
	residual, direction, product, scratch := memory[:n], memory[n:2*n], memory[2*n:3*n], memory[3*n:]
	copy(residual, b)
	clear(x)
	a.Precondition(direction, residual)
	first := floats.Dot(residual, direction)
	if first == 0 {
		return 0, Stationary, nil
	}
	left := first
	for k := range s.Products {
		if err := ctx.Err(); err != nil {
			return k, Unfinished, err
		}
		a.Product(product, direction)
		curvature := floats.Dot(direction, product)
		if !(curvature > 1e-14*floats.Dot(direction, direction)) {
			if k == 0 {
				copy(x, direction)
			}
			return k, Stalled, nil
		}
		floats.AddScaled(x, left/curvature, direction)
		floats.AddScaled(residual, -left/curvature, product)
		a.Precondition(scratch, residual)
		before := left
		if left = floats.Dot(residual, scratch); !(left > s.Left*s.Left*first) {
			return k + 1, Stationary, nil
		}
		floats.AddScaledTo(direction, scratch, left/before, direction)
	}
	return s.Products, Limit, nil
}

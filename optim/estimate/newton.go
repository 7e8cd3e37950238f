package estimate

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Newton minimizes a smooth convex function f whose Hessian fits into memory, by Newton steps that are halved until f
// falls (Armijo).
type Newton struct {
	Steps  int     // at most
	Enough float64 // a step ends the search that promises no more, twice what is left where f is quadratic

	Value       func(x []float64) float64
	Derivatives func(x []float64) (grad []float64, hess *mat.SymDense)
	Longest     func(x, d []float64) float64 // the share of a step x − d that f exists on, at most 1; nil: 1
}

const (
	armijo = 1e-4
	// quadratic is the gain of a step below which it needs no line search, in which the gain would drown in f's
	// rounding.
	quadratic = 1e-10
)

// Minimize moves x to the least, or to where f is flat to rounding, and reports whether it came to such a place.
func (s Newton) Minimize(x []float64) bool {
	step, next := mat.NewVecDense(len(x), nil), make([]float64, len(x))
	var factor mat.Cholesky
	value := s.Value(x)
	for range s.Steps {
		grad, hess := s.Derivatives(x)
		if !factor.Factorize(hess) || factor.SolveVecTo(step, mat.NewVecDense(len(x), grad)) != nil {
			return true
		}
		d, share := step.RawVector().Data, 1.0
		gain := floats.Dot(grad, d)
		if !(gain > s.Enough) {
			return true
		}
		if s.Longest != nil {
			share = s.Longest(x, d)
		}
		for ; ; share /= 2 {
			floats.AddScaledTo(next, x, -share, d)
			if at := s.Value(next); gain < quadratic || at <= value-armijo*share*gain {
				value = at
				break
			}
			if share < 1e-10 {
				return true
			}
		}
		copy(x, next)
	}
	return false
}

// Downhill is −|H|⁻¹g, with no eigenvalue of |H| below the least: a Newton step where H need not be positive definite.
func Downhill(hess *mat.SymDense, grad []float64, least float64) []float64 {
	values, vectors := Spectrum(hess)
	g := mat.NewVecDense(len(grad), grad)
	var along, step mat.VecDense
	along.MulVec(vectors.T(), g)
	for i, value := range values {
		along.SetVec(i, -along.AtVec(i)/math.Max(math.Abs(value), least))
	}
	step.MulVec(vectors, &along)
	return step.RawVector().Data
}

// differenceStep is h of fourth-order central differences of a gradient: h⁴/30 times its fourth derivative and the
// rounding 1e-16/h are near 1e-11 for parameters of size 1.
const differenceStep = 2e-4

// Hessian is that at x by differences of the gradient, which it is asked for with a scale: it adds scale·∇f(x) to sum.
//
//	∂g/∂x_p ≈ [8 (g(x+h) − g(x−h)) − (g(x+2h) − g(x−2h))] / 12h
func Hessian(x []float64, gradient func(sum []float64, scale float64, x []float64) error) (*mat.SymDense, error) {
	full := mat.NewDense(len(x), len(x), nil)
	for p, at := range x {
		for _, term := range []struct{ step, factor float64 }{{1, 8}, {-1, -8}, {2, -1}, {-2, 1}} {
			x[p] = at + term.step*differenceStep
			if err := gradient(full.RawRowView(p), term.factor/(12*differenceStep), x); err != nil {
				x[p] = at
				return nil, err
			}
		}
		x[p] = at
	}
	return Symmetric(full), nil
}

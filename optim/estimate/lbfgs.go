package estimate

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/optimize"
)

// LBFGS moves x to the least of a smooth function by the limited-memory BFGS method and returns the least. f writes
// ∇f(x) to grad and returns f(x). The best point counts even where a line search ran out of digits; an error means that
// there is none.
func LBFGS(x []float64, s optimize.Settings, f func(grad, x []float64) float64) (least float64, err error) {
	at, grad := make([]float64, len(x)), make([]float64, len(x))
	at[0] = math.NaN() // nowhere yet
	var value float64
	evaluate := func(x []float64) { // gonum asks for value and gradient one after the other
		if !floats.Equal(at, x) {
			copy(at, x)
			value = f(grad, x)
		}
	}
	problem := optimize.Problem{
		Func: func(x []float64) float64 { evaluate(x); return value },
		Grad: func(g, x []float64) { evaluate(x); copy(g, grad) },
	}
	r, err := optimize.Minimize(problem, x, &s, &optimize.LBFGS{})
	if r == nil {
		return 0, err
	}
	copy(x, r.X)
	return r.F, nil
}

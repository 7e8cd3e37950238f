package optim_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"calibra/optim"

	"gonum.org/v1/gonum/mat"
)

// logCosh is Σ_i log cosh((Ax)_i − b_i): smooth, strictly convex for A of full rank, its
// minimum where Ax = b.
type logCosh struct {
	a        *mat.Dense
	b        []float64
	residual mat.VecDense
	poor     bool // precondition with the identity
}

func (f *logCosh) Gradient(grad, x []float64) (loss float64) {
	f.residual.MulVec(f.a, mat.NewVecDense(len(x), x))
	slopes := mat.NewVecDense(len(f.b), nil)
	for i, b := range f.b {
		r := f.residual.AtVec(i) - b
		f.residual.SetVec(i, r)
		loss += math.Abs(r) + math.Log1p(math.Exp(-2*math.Abs(r))) - math.Ln2
		slopes.SetVec(i, math.Tanh(r))
	}
	mat.NewVecDense(len(grad), grad).MulVec(f.a.T(), slopes)
	return loss
}

func (f *logCosh) Product(dst, v []float64) {
	var u mat.VecDense
	u.MulVec(f.a, mat.NewVecDense(len(v), v))
	for i := range f.b {
		t := math.Tanh(f.residual.AtVec(i))
		u.SetVec(i, (1-t*t)*u.AtVec(i))
	}
	mat.NewVecDense(len(dst), dst).MulVec(f.a.T(), &u)
}

// Renew has nothing to renew: A is the same everywhere.
func (f *logCosh) Renew() error { return nil }

// Precondition divides by the diagonal of AᵀA.
func (f *logCosh) Precondition(dst, r []float64) {
	for j := range dst {
		column := f.a.ColView(j)
		dst[j] = r[j]
		if !f.poor {
			dst[j] /= mat.Dot(column, column)
		}
	}
}

func newLogCosh(n, m int) *logCosh {
	rng := rand.New(rand.NewPCG(1, 2))
	f := &logCosh{a: mat.NewDense(n, m, nil), b: make([]float64, n)}
	f.a.Apply(func(_, j int, _ float64) float64 { return rng.NormFloat64() * math.Pow(3, float64(j)/2) }, f.a)
	for i := range f.b {
		f.b[i] = rng.NormFloat64()
	}
	return f
}

func TestNewton(t *testing.T) {
	for _, poor := range []bool{false, true} {
		f, x := newLogCosh(40, 8), make([]float64, 8)
		f.poor = poor
		r, err := optim.Newton{Gradient: 1e-9}.Descend(t.Context(), f, x)
		if err != nil || !r.Converged() || r.Epochs > 20 {
			t.Fatalf("with a poor preconditioner (%v) it ended so: %+v, %v", poor, r, err)
		}
		grad := make([]float64, len(x))
		if loss := f.Gradient(grad, x); loss != r.Loss {
			t.Errorf("the loss at x is %v and the result says %v", loss, r.Loss)
		}
		for j, g := range grad {
			if math.Abs(g) > 1e-9 {
				t.Errorf("the gradient of x_%d is %g", j, g)
			}
		}
	}
}

func TestNewtonSaysWhatItLacked(t *testing.T) {
	r, err := optim.Newton{Gradient: 1e-9, Iterations: 1}.Descend(t.Context(), newLogCosh(40, 8), make([]float64, 8))
	if err != nil || r.Converged() || r.Epochs != 1 {
		t.Errorf("one iteration ended so: %+v, %v", r, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (optim.Newton{}).Descend(ctx, newLogCosh(40, 8), make([]float64, 8)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled, it ended with %v", err)
	}
	x := make([]float64, 8)
	x[0] = math.NaN()
	if _, err := (optim.Newton{}).Descend(t.Context(), newLogCosh(40, 8), x); err == nil {
		t.Error("a loss that is not finite was no error")
	}
}

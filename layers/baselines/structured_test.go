package baselines

import (
	"math"
	"slices"
	"testing"

	"calibra/graph"
	"calibra/layers"
	"calibra/optim"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"
)

// structuredProblem is step 3 written out in plain Go: value, gradient and Hessian of
//
//	mean NLL(softmax(x + Δx + b)) + (C/n)(‖b‖² + Σ_k Δ_kk²) + (C(C−1)/n) Σ_{k≠l} Δ_kl²
//
// in θ = (Δ, row by row, then b).
type structuredProblem struct {
	x      *mat.Dense
	labels []int
}

func (s structuredProblem) derivatives(theta []float64) (grad []float64, hessian *mat.SymDense) {
	n, c := s.x.Dims()
	size := c * (c + 1)
	grad, hessian = make([]float64, size), mat.NewSymDense(size, nil)
	p := make([]float64, c)
	for i, x := range rowsOf(s.x) {
		for k := range c {
			p[k] = x[k] + floats.Dot(theta[k*c:(k+1)*c], x) + theta[c*c+k]
		}
		floats.AddConst(-floats.LogSumExp(p), p)
		for k := range p {
			p[k] = math.Exp(p[k])
		}
		// score k depends on θ_kl by x_l and on b_k by 1
		place := func(k, l int) (at int, factor float64) {
			if l == c {
				return c*c + k, 1
			}
			return k*c + l, x[l]
		}
		for k := range c {
			e := p[k]
			if s.labels[i] == k {
				e--
			}
			for l := range c + 1 {
				at, f := place(k, l)
				grad[at] += e * f / float64(n)
				for k2 := range c {
					curvature := -p[k] * p[k2]
					if k == k2 {
						curvature += p[k]
					}
					for l2 := range c + 1 {
						at2, f2 := place(k2, l2)
						if at <= at2 {
							hessian.SetSym(at, at2, hessian.At(at, at2)+curvature*f*f2/float64(n))
						}
					}
				}
			}
		}
	}
	for at := range size {
		weight := float64(c) / float64(n)
		if at < c*c && at/c != at%c {
			weight *= float64(c - 1)
		}
		grad[at] += 2 * weight * theta[at]
		hessian.SetSym(at, at, hessian.At(at, at)+2*weight)
	}
	return grad, hessian
}

// TestStructuredAgainstNewton: the fit's own gradient, computed independently, is as
// small as it says, and the optimum is that of Newton's method.
func TestStructuredAgainstNewton(t *testing.T) {
	cal, _ := problems()["dirichlet"].draw(300, 7)
	const c = 3
	theta := func(m *Smooth) []float64 {
		var delta mat.Dense
		delta.CloneFrom(mat.NewDense(c, c, m.Weights().Float64s("structured/weight")).T())
		return append(delta.RawMatrix().Data, m.Weights().Float64s("structured/bias")...)
	}
	for _, tolerance := range []float64{0, 1e-9} { // 0 is the default, 1e-6
		m := Structured(optim.Newton{Gradient: tolerance}, 0)
		fit(t, m, cal, nil)
		view, err := m.Base.View(cal)
		if err != nil {
			t.Fatal(err)
		}
		in, err := structuredMap{}.Inputs(view, m.Weights())
		if err != nil {
			t.Fatal(err)
		}
		s := structuredProblem{in["smoothed"].(*mat.Dense), cal.Labels}
		grad, _ := s.derivatives(theta(m))
		size := floats.Norm(grad, math.Inf(1))
		// Two ways to sum 300 terms of order 1.
		if !scalar.EqualWithinAbs(size, m.Result.GradientNorm, 1e-13) || !m.Result.Converged() {
			t.Errorf("the gradient is %.3e, the result says %.3e: %s", size, m.Result.GradientNorm, m.Result.Ended)
		}
		if tolerance == 0 {
			if size > 1e-6 {
				t.Errorf("the gradient is %.1e, of which 1e-5 moves a probability by 1e-4", size)
			}
			continue
		}
		newton := make([]float64, c*(c+1))
		for range 20 {
			g, h := s.derivatives(newton)
			var factor mat.Cholesky
			if !factor.Factorize(h) {
				t.Fatal("the Hessian is not positive definite")
			}
			var step mat.VecDense
			if err := factor.SolveVecTo(&step, mat.NewVecDense(len(g), g)); err != nil {
				t.Fatal(err)
			}
			floats.Sub(newton, step.RawVector().Data)
		}
		// A gradient of 1e-9 over the least curvature, 2C/n = 0.02.
		if got := theta(m); !floats.EqualApprox(got, newton, 1e-7) {
			t.Errorf("the optimum is\n%v, Newton's\n%v", got, newton)
		}
	}
}

// TestStructuredLossIsTheGraphs: loss, gradient and curvature in closed form against the graph
// of the same map.
func TestStructuredLossIsTheGraphs(t *testing.T) {
	for _, strength := range []float64{1, 0.01} {
		cal, _ := problems()["dirichlet"].draw(300, 7)
		m := Structured(optim.Newton{Gradient: 1e-9}, strength)
		fit(t, m, cal, nil)
		view, err := m.Base.View(cal)
		if err != nil {
			t.Fatal(err)
		}
		described := structuredMap{strength: strength}
		in, err := described.Inputs(view, m.Weights())
		if err != nil {
			t.Fatal(err)
		}
		rows, err := view.RowsFor(described, m.Weights(), m.Base.Sizes())
		if err != nil {
			t.Fatal(err)
		}
		f := newStructuredLoss(in["smoothed"].(*mat.Dense), aimsOf(cal), strength)
		x := make([]float64, len(f.strengths))
		r, err := optim.Newton{Gradient: 1e-9}.Descend(t.Context(), f, x)
		if err != nil || !r.Converged() {
			t.Errorf("strength %g: %+v, %v", strength, r, err)
		}
		want := append(slices.Clone(m.Weights().Float64s("structured/weight")), m.Weights().Float64s("structured/bias")...)
		// A gradient of 1e-9 over the least curvature, 2C/n = 0.02 times the strength.
		if d := floats.Distance(x, want, math.Inf(1)); !(d < 1e-7/strength) {
			t.Errorf("strength %g: the optimum is %g from that of BFGS", strength, d)
		}
		compareWithGraph(t, f, layers.Objective(described, m.Weights(), rows.Labelled(graph.Labels(cal.Labels))), cal.Len())
	}
}

// TestBisectionFindsTheInverseTemperature: scaling the logits by e^0.7 takes 0.7 off
// u, but for the gradients of 1e-12 that both may have.
func TestBisectionFindsTheInverseTemperature(t *testing.T) {
	cal, truth := problems()["calibrated"].draw(500, 8)
	u := bisectInverse(mat.DenseCopyOf(truth), cal)
	truth.Scale(math.Exp(0.7), truth)
	if got := bisectInverse(truth, cal); !scalar.EqualWithinAbs(u-0.7, got, 1e-11) {
		t.Errorf("u falls from %v to %v, not by 0.7", u, got)
	}
}

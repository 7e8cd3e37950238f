package theory

import (
	"math"
	"testing"

	"calibra/theory/internal/numeric"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"
)

// What the layer's graph computes and what was worked out by hand are the same
// function with the same derivatives.
func TestGraphEqualsAnalytic(t *testing.T) {
	for _, identity := range []float64{0, 1} {
		truth, theta, weights := somewhere(t, identity)
		byGraph := truth.Table.Paper(identity)
		byHand := truth.Table.ByHand(identity)
		n := byHand.Dim()
		if byGraph.Dim() != n {
			t.Fatalf("the layer has %d parameters, the analytic loss %d", byGraph.Dim(), n)
		}
		g, h := make([]float64, n), make([]float64, n)
		lg, err := byGraph.Gradient(g, theta, weights)
		if err != nil {
			t.Fatal(err)
		}
		lh, err := byHand.Gradient(h, theta, weights)
		if err != nil {
			t.Fatal(err)
		}
		// The losses are sums of 90 rows of size 1 in two orders. The graph's ψ is gonum's,
		// good to 5e-11; the analytic one's is good to rounding.
		if !scalar.EqualWithinAbs(lg, lh, 1e-13) || !floats.EqualApprox(g, h, 1e-10) {
			t.Errorf("δ = %g: losses %g and %g, gradients apart by %g", identity, lg, lh, floats.Distance(g, h, math.Inf(1)))
		}
		for name, fill := range map[string]func(m Model, dst *mat.SymDense) error{
			"Hessian": func(m Model, dst *mat.SymDense) error { return m.Hessian(dst, theta, weights) },
			"scores":  func(m Model, dst *mat.SymDense) error { return m.Scores(dst, theta, weights) },
		} {
			a, b := mat.NewSymDense(n, nil), mat.NewSymDense(n, nil)
			if err := fill(byGraph, a); err != nil {
				t.Fatal(err)
			}
			if err := fill(byHand, b); err != nil {
				t.Fatal(err)
			}
			numeric.Subtract(a, b)
			if gap := numeric.OperatorNorm(a); !(gap <= 1e-9) { // the error of ψ, and see differenceStep
				t.Errorf("δ = %g: %s of graph and hand differ by %g", identity, name, gap)
			}
		}
	}
}

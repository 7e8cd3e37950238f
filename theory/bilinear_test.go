package theory

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/mathext"
)

// somewhere returns a problem, sample weights and a point that is not its optimum.
func somewhere(t *testing.T, identity float64) (truth *Truth, theta, weights []float64) {
	t.Helper()
	d := Design{Classes: 3, Slots: 2, Codewords: 4, Atoms: 3, Decades: 1, Identity: identity}
	rng := newRand(3)
	truth, err := NewTruth(d, rng)
	if err != nil {
		t.Fatal(err)
	}
	population := truth.Weights(truth.Table.Multinomial(d.Frequencies(0)))
	weights = Sample(population, 2000, rng)
	theta = append([]float64(nil), truth.Theta...)
	for i := range theta {
		theta[i] += 0.3 * rng.NormFloat64()
	}
	return truth, theta, weights
}

func TestGradientIsTheLossesSlope(t *testing.T) {
	for _, identity := range []float64{0, 1} {
		truth, theta, weights := somewhere(t, identity)
		model := truth.Table.ByHand(identity)
		grad := make([]float64, model.Dim())
		if _, err := model.Gradient(grad, theta, weights); err != nil {
			t.Fatal(err)
		}
		loss := func(x []float64) float64 {
			l, err := model.Gradient(make([]float64, len(x)), x, weights)
			if err != nil {
				t.Fatal(err)
			}
			return l
		}
		slopes := fd.Gradient(nil, loss, theta, &fd.Settings{Formula: fd.Central})
		// Central differences of a loss near 1 are good to about 1e-16^(2/3).
		if !floats.EqualApprox(grad, slopes, 1e-8) {
			t.Errorf("δ = %g: gradient %v, differences %v", identity, grad, slopes)
		}
	}
}

func TestHessianIsTheGradientsSlope(t *testing.T) {
	for _, identity := range []float64{0, 1} {
		truth, theta, weights := somewhere(t, identity)
		model := truth.Table.ByHand(identity)
		n := model.Dim()
		hess := mat.NewSymDense(n, nil)
		if err := model.Hessian(hess, theta, weights); err != nil {
			t.Fatal(err)
		}
		slopes := mat.NewDense(n, n, nil)
		fd.Jacobian(slopes, func(grad, x []float64) {
			if _, err := model.Gradient(grad, x, weights); err != nil {
				t.Fatal(err)
			}
		}, theta, &fd.JacobianSettings{Formula: fd.Central})
		if !mat.EqualApprox(hess, slopes, 1e-8) { // as above
			t.Errorf("δ = %g: Hessian differs from the gradient's differences", identity)
		}
	}
}

// The information identity: under the law of the model itself H = J.
func TestScoresEqualHessianUnderTheTruth(t *testing.T) {
	truth, _, _ := somewhere(t, 1)
	weights := truth.Weights(truth.Table.Multinomial(truth.Design.Frequencies(0)))
	model := truth.Table.ByHand(1)
	n := model.Dim()
	hess, outer := mat.NewSymDense(n, nil), mat.NewSymDense(n, nil)
	if err := model.Hessian(hess, truth.Theta, weights); err != nil {
		t.Fatal(err)
	}
	if err := model.Scores(outer, truth.Theta, weights); err != nil {
		t.Fatal(err)
	}
	if !mat.EqualApprox(hess, outer, 1e-12) { // sums of about 100 terms of size 1
		t.Error("H ≠ J at the truth")
	}
}

// The calibrator's score and the Dirichlet density agree (Proposition 2, δ = 0) and
// the published score adds p̂_j (δ = 1).
func TestScoreIsTheDirichletPosterior(t *testing.T) {
	for _, identity := range []float64{0, 1} {
		truth, _, _ := somewhere(t, identity)
		logq := make([]float64, len(truth.Label))
		if err := truth.Table.ByHand(identity).LogProbs(logq, truth.Theta); err != nil {
			t.Fatal(err)
		}
		for i, l := range logq {
			if !scalar.EqualWithinAbs(math.Exp(l), truth.Label[i], 1e-12) { // the specification's band
				t.Fatalf("δ = %g: entry %d: score gives %g, density %g", identity, i, math.Exp(l), truth.Label[i])
			}
		}
	}
}

func TestTrigammaIsHurwitzZeta(t *testing.T) {
	for x := 1e-8; x < 1e6; x *= 1.37 {
		if want := mathext.Zeta(2, x); !scalar.EqualWithinAbs(trigamma(x), want, 4e-15*want) { // a dozen roundings
			t.Errorf("ψ'(%g) = %g, ζ(2, x) = %g", x, trigamma(x), want)
		}
	}
}

package simd

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mathext"
)

func lgamma64(x float64) float64 {
	y, _ := math.Lgamma(x)
	return y
}

func digamma64(x float64) float64 {
	_, psi := LgammaDigamma64(x)
	return psi
}

// The marks lie at the zeros of ln Γ (1 and 2) and of ψ (1.4616), and where the
// formulas change.
var gammaFunctions = []function{
	{"Lgamma", Lgamma, lgamma64, 1e-8, 1e6, []float32{1, 2, 3, 1.4616321, 0.5, 1.5, 2.5}, math.NaN(),
		[][2]float64{{0, inf}, {inf, inf}, {nan, nan}, {-0.5, nan}, {-3, nan}, {-inf, nan}, {1, 0}, {2, 0}, {1e38, inf}, {tiny, lgamma64(tiny)}}},
	{"Digamma", Digamma, digamma64, 1e-8, 1e6, []float32{1, 2, 3, 1.4616321, 0.5, 1.5, 2.5}, math.NaN(),
		[][2]float64{{0, -inf}, {math.Copysign(0, -1), inf}, {inf, inf}, {nan, nan}, {-0.5, nan}, {-inf, nan}, {tiny, -inf}, {1e38, math.Log(1e38)}}},
}

// The issue asks for 1e-6 relative on [1e-8, 1e6]; the doc comments promise half
// of that.
func TestGammaAccuracy(t *testing.T) {
	eachInstructionSet(t, func(t *testing.T) {
		for _, f := range gammaFunctions {
			x := sweep(f.lo, f.hi, f.marks...)
			y := make([]float32, len(x))
			f.of(y, x)
			worst, at := 0.0, float32(0)
			for i, v := range x {
				want := f.reference(float64(v))
				e := math.Abs(float64(y[i]) - want)
				if want != 0 {
					e /= math.Abs(want)
				}
				if e > worst || math.IsNaN(e) {
					worst, at = e, v
				}
			}
			t.Logf("%s: %.3g relative at %g", f.name, worst, at)
			if !(worst <= 5e-7) {
				t.Errorf("%s(%g) is off by %.3g relative", f.name, at, worst)
			}
		}
	})
}

// The float64 path against mpmath 1.2 in 30 digits, and against gonum to gonum's
// own truncation error of 6e-11.
func TestLgammaDigamma64(t *testing.T) {
	for _, c := range []struct{ x, lg, psi float64 }{
		{1e-8, 18.420680738180208884, -100000000.57721564636},
		{0.1, 2.252712651734205902, -10.423754940411076232},
		{0.5, 0.57236494292470008707, -1.9635100260214234794},
		{1, 0, -0.57721566490153286061},
		{1.4616321325302124, -0.12148629053584953324, -1.2036052549106669488e-8},
		{1.5, -0.12078223763524522235, 0.036489973978576520559},
		{2, 0, 0.42278433509846713939},
		{3, 0.69314718055994530942, 0.92278433509846713939},
		{10, 12.801827480081469611, 2.2517525890667211076},
		{100, 359.13420536957539878, 4.6001618527380874002},
		{1e6, 12815504.56914761166, 13.815510057964190771},
	} {
		lg, psi := LgammaDigamma64(c.x)
		// a few roundings of numbers near 1 where the functions vanish
		if !scalar.EqualWithinAbs(lg, c.lg, 1e-15*math.Max(1, math.Abs(c.lg))) || !scalar.EqualWithinAbs(psi, c.psi, 1e-15*math.Max(1, math.Abs(c.psi))) {
			t.Errorf("LgammaDigamma64(%g) = %.17g, %.17g, want %.17g, %.17g", c.x, lg, psi, c.lg, c.psi)
		}
	}
	for _, v := range sweep(1e-8, 1e6) {
		x := float64(v)
		if _, psi := LgammaDigamma64(x); !scalar.EqualWithinAbs(psi, mathext.Digamma(x), 6e-11+1e-14*math.Abs(psi)) {
			t.Fatalf("ψ(%g) = %.17g, gonum %.17g", x, psi, mathext.Digamma(x))
		}
	}
	for _, x := range []float64{-1, -0.5, math.NaN(), math.Inf(-1)} {
		if lg, psi := LgammaDigamma64(x); lg == lg || psi == psi {
			t.Errorf("LgammaDigamma64(%g) = %g, %g, want NaN", x, lg, psi)
		}
	}
}

func TestLgammaDigammaIsBoth(t *testing.T) {
	x := sweep(1e-8, 1e6)
	lg, psi := make([]float32, len(x)), make([]float32, len(x))
	want := make([]float32, len(x))
	eachInstructionSet(t, func(t *testing.T) {
		lgammaDigammaKernel(lg, psi, x)
		for i, f := range gammaFunctions {
			f.of(want, x)
			for j, v := range [][]float32{lg, psi}[i] {
				if v != want[j] {
					t.Fatalf("%s(%g) is %g alone and %g together", f.name, x[j], want[j], v)
				}
			}
		}
	})
}

// The recurrences Γ(x+1) = x·Γ(x) and ψ(x+1) = ψ(x) + 1/x, to a few roundings of
// the largest term.
func TestGammaRecurrence(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	x, next := make([]float32, 1000), make([]float32, 1000)
	for i := range x {
		x[i] = float32(rng.IntN(1<<20)+1) / (1 << 17) // x+1 is exact
		next[i] = x[i] + 1
	}
	lg, psi := make([]float32, 1000), make([]float32, 1000)
	lgNext, psiNext := make([]float32, 1000), make([]float32, 1000)
	eachInstructionSet(t, func(t *testing.T) {
		lgammaDigammaKernel(lg, psi, x)
		lgammaDigammaKernel(lgNext, psiNext, next)
		for i, v := range x {
			l := math.Log(float64(v))
			if d := math.Abs(float64(lgNext[i]) - float64(lg[i]) - l); !(d <= 1e-6*(1+math.Abs(l)+float64(lgNext[i]))) {
				t.Errorf("ln Γ(%g+1) − ln Γ(%g) is off by %g", v, v, d)
			}
			if d := math.Abs(float64(psiNext[i]) - float64(psi[i]) - 1/float64(v)); !(d <= 1e-6*(3+1/float64(v))) {
				t.Errorf("ψ(%g+1) − ψ(%g) is off by %g", v, v, d)
			}
		}
	})
}

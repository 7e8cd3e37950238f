package simd

import (
	"math"

	"calibra/graph/simd/internal/minimax"
)

// Lgamma sets dst = ln Γ(x), for x ≥ 0, to 5e-7 relative, also beside its zeros at
// 1 and 2. ln Γ(0) = +∞; NaN for negative x. It panics if the lengths differ; dst
// may be x.
func Lgamma(dst, x []float32) { apply("Lgamma", sets[isa].lgamma, lgammaPortable, dst, x) }

// Digamma sets dst = ψ(x) = d ln Γ(x)/dx, for x ≥ 0, to 5e-7 relative, also beside
// its zero at 1.4616. ψ(±0) = ∓∞; NaN for negative x. It panics if the lengths
// differ; dst may be x.
func Digamma(dst, x []float32) { apply("Digamma", sets[isa].digamma, digammaPortable, dst, x) }

func lgammaPortable(dst, x []float32) {
	for i, v := range x {
		lg, _ := gamma(float64(v))
		dst[i] = float32(lg)
	}
}

func digammaPortable(dst, x []float32) {
	for i, v := range x {
		_, psi := gamma(float64(v))
		dst[i] = float32(psi)
	}
}

func lgammaDigammaPortable(lg, psi, x []float32) {
	for i, v := range x {
		l, p := gamma(float64(v))
		lg[i], psi[i] = float32(l), float32(p)
	}
}

// gamma returns ln Γ(x) and ψ(x) for a float32 x. Below 3, x is moved to 1+y in
// [1, 2) by the recurrence Γ(x+1) = x·Γ(x), where the zeros of both functions are
// factors of what is left:
//
//	ln Γ(1+y) = y(y−1)·R(y−½)    ψ(1+y) = (1+y−x₀)·S(y−½)
//
// From 3 on both are asymptotic series.
func gamma(x float64) (lg, psi float64) {
	switch {
	case !(x >= 0):
		return math.NaN(), math.NaN()
	case x >= 3:
		l, v := log(x), 1/x
		lg = (x-0.5)*(l-1) + minimax.HalfLogTwoPiLess + v*stirlingPolynomial.of4(v*v)
		psi = l - v*(0.5+v*digammaTailPolynomial.of4(v*v))
		return lg, psi
	}
	y := x - math.Floor(x)
	lg = 0 - y*(1-y)*lgammaPolynomial.of12(y-0.5)
	psi = (y - (minimax.DigammaZeroHigh - 1) - minimax.DigammaZeroLow) * digammaPolynomial.of12(y-0.5)
	switch {
	case x < 1:
		return lg - log(x), psi - 1/x
	case x >= 2:
		return lg + log(x-1), psi + 1/(x-1)
	}
	return lg, psi
}

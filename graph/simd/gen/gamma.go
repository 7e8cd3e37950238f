//go:build generate

package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"

	"calibra/graph/simd/gen/isa"
	"calibra/graph/simd/internal/minimax"
)

func gammaUnit() {
	unary("lgamma", func(x vec) vec { y, _ := gamma(x, true, false); return y })
	unary("digamma", func(x vec) vec { _, y := gamma(x, false, true); return y })
	each("lgammaDigamma", "(lg, psi, x *float32, n int)", "", "x", "lg psi", func(_, x []vec) []vec {
		lg, psi := gamma(x[0], true, true)
		return []vec{lg, psi}
	})
}

// gamma returns ln Γ(x) and ψ(x) for x ≥ 0.
//
// Below 3, x is moved to 1+y in [1, 2) by the recurrence, in the symbols
// a = x, 1, x−1 for x in (0,1), [1,2), [2,3):
//
//	ln Γ(x) = y(y−1)·R(y−½) ∓ ln a    ψ(x) = (1+y−x₀)·S(y−½) ∓ 1/a
//
// with R and S polynomials and x₀ the zero of ψ, so that the zeros of both
// functions are factors and nothing is lost near them. From 3 on a = x and
//
//	ln Γ(x) = (x−½)(ln x − 1) + (ln 2π − 1)/2 + P(1/x²)/x
//	ψ(x)    = ln x − (½ + Q(1/x²)/x)/x
func gamma(x vec, wantLog, wantDerivative bool) (lg, psi vec) {
	from2, from3 := kept(isa.IsAtLeast, k(2), x), kept(isa.IsAtLeast, k(3), x)
	y := fraction(x)
	a, moved := copyOf(x), isa.NewVec()
	choose(compare(isa.IsAtLeast, k(1), x), k(1), a)
	add(k(1), y, moved)
	choose(from2(), moved, a)
	choose(from3(), x, a)

	inverse := load(1)
	div(a, inverse, inverse)
	logA := log(a)

	t := isa.NewVec()
	sub(k(0.5), y, t)
	inverseSquare := isa.NewVec()
	mul(inverse, inverse, inverseSquare)

	if wantLog {
		lg = horner(minimax.LgammaUnit[:], t)
		y1 := isa.NewVec()
		sub(k(1), y, y1)
		mul(y, lg, lg)
		lg = timesPlus(zero(), y1, lg) // + 0, so that ln Γ(1) is not −0
		subWhere(compare(isa.IsLess, k(1), x), logA, lg)
		addWhere(from2(), logA, lg)

		large := horner(minimax.Stirling[:], inverseSquare)
		large = timesPlus(k(minimax.HalfLogTwoPiLess), inverse, large)
		b, c := isa.NewVec(), isa.NewVec()
		sub(k(0.5), x, b)
		sub(k(1), logA, c)
		mulAdd(b, c, large)
		choose(from3(), large, lg)
	}
	if wantDerivative {
		psi = horner(minimax.DigammaUnit[:], t)
		b := isa.NewVec()
		sub(k(minimax.DigammaZeroHigh-1), y, b)
		sub(k(minimax.DigammaZeroLow), b, b)
		mul(b, psi, psi)
		subWhere(compare(isa.IsLess, k(1), x), inverse, psi)
		addWhere(from2(), inverse, psi)

		large := horner(minimax.DigammaTail[:], inverseSquare)
		large = timesPlus(k(0.5), inverse, large)
		c := copyOf(logA)
		mulSub(large, inverse, c)
		choose(from3(), c, psi)
		nothing := zero()
		choose(compare(isa.IsLess, nothing, x), logA, psi) // not a number
	}
	return lg, psi
}

// kept returns a mask for use again and again: held in a register, or compared
// anew with AVX2, whose masks take vector registers, of which it has few.
func kept(predicate uint8, c k, x vec) func() mask {
	if isa.Target != isa.AVX2 {
		m := compare(predicate, c, x)
		return func() mask { return m }
	}
	return func() mask { return compare(predicate, c, x) }
}

// fraction returns x − ⌊x⌋ for finite x.
func fraction(x vec) vec {
	y := isa.NewVec()
	if isa.Target == isa.AVX512 {
		emit(func() { of(VREDUCEPS, VREDUCEPD)(operand.U8(1), x, y) })
		return y
	}
	emit(func() { of(variadic(VROUNDPS), variadic(VROUNDPD))(operand.U8(9), x, y) })
	sub(y, x, y)
	return y
}

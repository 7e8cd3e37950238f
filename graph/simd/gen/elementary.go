//go:build generate

package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"

	"calibra/graph/simd/gen/isa"
	"calibra/graph/simd/internal/minimax"
)

func elementaryUnit() {
	unary("exp", exp)
	unary("sigmoid", func(x vec) vec { return sigmoid(x, expMinusAbs(x)) })
	each("softplus", "(dst, x *float32, n int, epsilon float32)", "epsilon", "x", "dst", func(c, x []vec) []vec {
		y := softplus(x[0], expMinusAbs(x[0]))
		add(c[0], y, y)
		return []vec{y}
	})
	each("softplusSigmoid", "(alpha, sigma, a *float32, n int, epsilon float32)", "epsilon", "a", "alpha sigma", func(c, x []vec) []vec {
		t := expMinusAbs(x[0])
		sigma := sigmoid(x[0], t)
		alpha := softplus(x[0], t)
		add(c[0], alpha, alpha)
		return []vec{alpha, sigma}
	})
	columns()
}

// columns are the steps of a softmax whose classes are rows, so that vectors hold one class of many columns.
func columns() {
	each("mulAdd", "(y, a, x *float32, n int)", "", "y a x", "y", func(_, x []vec) []vec {
		mulAdd(x[1], x[2], x[0])
		return x[:1]
	})
	each("times", "(y, x *float32, n int)", "", "y x", "y", func(_, x []vec) []vec {
		mul(x[1], x[0], x[0])
		return x[:1]
	})
	each("greatest", "(y, x *float32, n int)", "", "y x", "y", func(_, x []vec) []vec {
		greater(x[1], x[0], x[0])
		return x[:1]
	})
	each("expLess", "(p, sum, x, most *float32, n int)", "", "x most sum", "p sum", func(_, x []vec) []vec {
		sub(x[1], x[0], x[0])
		p := exp(x[0])
		add(p, x[2], x[2])
		return []vec{p, x[2]}
	})
}

func unary(name string, f func(x vec) vec) {
	each(name, "(dst, x *float32, n int)", "", "x", "dst", func(_, x []vec) []vec { return []vec{f(x[0])} })
}

// exp returns eˣ = 2ⁿ·eʳ with n = ⌊x/ln 2⌉ and |r| ≤ ln 2 / 2.
func exp(x vec) vec {
	r := load(minimax.ExpHighest)
	lesser(x, r, r)
	lowest := load(minimax.ExpLowest)
	greater(r, lowest, r)
	return expReduced(r)
}

// expMinusAbs returns e^−|x|, the t of softplus and sigmoid; at x > 0, where both
// only need 1+t, not below e⁻⁴⁰: arithmetic on subnormal numbers is slow.
func expMinusAbs(x vec) vec {
	r := isa.NewVec()
	or(bits(1<<31), x, r)
	lowest, nothing := load(minimax.ExpLowest), zero()
	choose(compare(isa.IsLess, x, nothing), k(-40), lowest)
	greater(r, lowest, r)
	return expReduced(r)
}

// expReduced is exp for arguments inside [ExpLowest, ExpHighest] or NaN. It
// overwrites r.
func expReduced(r vec) vec {
	n := isa.NewVec()
	mul(k(minimax.Log2E), r, n)
	roundEven(n, n)
	mulSub(k(minimax.Ln2High), n, r)
	mulSub(k(minimax.Ln2Low), n, r)

	// eʳ = 1 + (r + r²·P(r))
	p := horner(minimax.Exp[:], r)
	square := isa.NewVec()
	mul(r, r, square)
	p = timesPlus(r, square, p)
	add(k(1), p, p)
	if isa.Target == isa.AVX512 {
		emit(func() { VSCALEFPS(n, p, p) })
		return p
	}
	// Two factors, as 2ⁿ itself may lie outside the normal numbers.
	i, half := isa.NewVec(), isa.NewVec()
	emit(func() { VCVTPS2DQ(n, i) })
	emit(func() { VPSRAD(operand.U8(1), i, half) })
	subInt(half, i, i)
	for _, e := range []vec{half, i} {
		emit(func() { VPSLLD(operand.U8(23), e, e) })
		addInt(k(1), e, e)
		mul(e, p, p)
	}
	return p
}

// log returns ln x = e·ln 2 + ln(1+f) with x = 2ᵉ(1+f) and 1+f in [¾, 1½).
func log(x vec) vec {
	e, f, special := split(x)
	// ln(1+f) = f − f²/2 + f³·P(f)
	y := horner(minimax.Log[:], f)
	square := isa.NewVec()
	mul(f, f, square)
	mul(f, y, y)
	mul(square, y, y)
	mulAdd(k(minimax.Ln2Low), e, y)
	mulSub(k(0.5), square, y)
	add(f, y, y)
	mulAdd(k(minimax.Ln2High), e, y)
	special(y)
	return y
}

// split returns the e and f of log, and what remains to be done to the result for
// zero (−∞), infinity (+∞), negative numbers and NaN (NaN).
func split(x vec) (e, f vec, special func(y vec)) {
	e, f = isa.NewVec(), isa.NewVec()
	if isa.Target == isa.AVX512 {
		// Subnormal numbers are split like the others; zero, infinity and NaN have an e
		// of −∞, +∞ and NaN, and the fraction of a negative number is NaN.
		const from3over4, negativeIsNaN = 3, 3 << 2
		emit(func() { VGETMANTPS(operand.U8(from3over4|negativeIsNaN), x, f) })
		below1 := isa.NewVec()
		emit(func() { VGETEXPPS(f, below1) })
		emit(func() { VGETEXPPS(x, e) })
		sub(below1, e, e)
		sub(k(1), f, f)
		return e, f, func(vec) {}
	}
	// Subnormal numbers (and, harmlessly, what lies below) are scaled by 2²³.
	tiny := compare(isa.IsLess, k(minimax.SmallestNormal), x)
	i, scaled := copyOf(x), isa.NewVec()
	mul(k(1<<23), x, scaled)
	choose(tiny, scaled, i)
	subInt(k(0.75), i, i)
	emit(func() { VPSRAD(operand.U8(23), i, e) })
	emit(func() { VCVTDQ2PS(e, e) })
	subWhere(tiny, k(23), e)
	and(bits(1<<23-1), i, f)
	addInt(k(0.75), f, f)
	sub(k(1), f, f)
	return e, f, func(y vec) {
		choose(compare(isa.IsNotBelow, k(math.Inf(1)), x), x, y)
		nothing := zero()
		choose(compare(isa.IsEqual, nothing, x), k(math.Inf(-1)), y)
		choose(compare(isa.IsLess, nothing, x), k(math.NaN()), y)
	}
}

// log1pUnit returns ln(1+t) for t in [0, 1], or NaN: with s = t/(2+t),
// ln(1+t) = 2·artanh s = t − s·(t − s²·P(s²)).
func log1pUnit(t vec) vec {
	s := isa.NewVec()
	add(k(2), t, s)
	div(s, t, s)
	square := isa.NewVec()
	mul(s, s, square)
	p := horner(minimax.Artanh[:], square)
	mul(square, p, p)
	sub(p, t, p)
	y := copyOf(t)
	mulSub(p, s, y)
	return y
}

// softplus returns ln(1+eˣ) = max(x, 0) + ln(1+t), where t = e^−|x|.
func softplus(x, t vec) vec {
	y := log1pUnit(t)
	positive := zero()
	greater(x, positive, positive)
	add(positive, y, y)
	return y
}

// sigmoid returns 1/(1+e^−x) = (1 or t)/(1+t), where t = e^−|x|.
func sigmoid(x, t vec) vec {
	y := copyOf(t)
	positive := zero()
	choose(compare(isa.IsAtLeast, positive, x), k(1), y)
	d := isa.NewVec()
	add(k(1), t, d)
	div(d, y, y)
	return y
}

//go:build generate

package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"

	"calibra/graph/simd/gen/isa"
	"calibra/graph/simd/internal/minimax"
)

// The kernels of float64 compute, lane by lane, what Go's math.Exp, Log1p, Log and Lgamma compute
// on amd64, in the same operations: both branches of a condition, of which one is chosen.
func gamma64Unit() {
	double = true
	each("expNegative64", "(dst, x *float64, n int)", "", "x", "dst", func(_, x []vec) []vec { return []vec{expMinusAbs64(x[0])} })
	each("log64", "(dst, x *float64, n int)", "", "x", "dst", func(_, x []vec) []vec { return []vec{log64(x[0])} })
	each("lgamma64", "(dst, x *float64, n int)", "", "x", "dst", func(_, x []vec) []vec { return []vec{lgamma64(x[0])} })
	each("softplus64", "(dst, x *float64, n int, epsilon float64)", "epsilon", "x", "dst", func(c, x []vec) []vec {
		y := log1pUnit64(expMinusAbs64(x[0]))
		positive := zero()
		greater(x[0], positive, positive)
		add(positive, y, y)
		add(c[0], y, y)
		return []vec{y}
	})
}

// separate returns c[0] + x·(c[1] + x·(c[2] + …)), each product and sum rounded.
func separate(x vec, c ...float64) vec {
	p := load(k(c[len(c)-1]))
	for i := len(c) - 2; i >= 0; i-- {
		mul(x, p, p)
		add(k(c[i]), p, p)
	}
	return p
}

// every returns c[from], c[from+step], c[from+2·step], …
func every(step, from int, c []float64) (some []float64) {
	for ; from < len(c); from += step {
		some = append(some, c[from])
	}
	return some
}

func product(x, y vec) vec {
	p := isa.NewVec()
	mul(x, y, p)
	return p
}

// expMinusAbs64 returns e^−|x|, for |x| > 300 that of 300.
func expMinusAbs64(x vec) vec {
	r := isa.NewVec()
	or(bits(1<<31), x, r)
	lowest := load(-300)
	greater(r, lowest, r)
	n := isa.NewVec()
	mul(k(math.Log2E), r, n)
	roundEven(n, n)
	mulSub(k(minimax.ExpLn2High), n, r)
	mulSub(k(minimax.ExpLn2Low), n, r)

	// e^r − 1 of r/16, then four times (1+r)² − 1 = r·(2+r).
	mul(k(1./16), r, r)
	mul(horner(minimax.ExpTaylor[:], r), r, r)
	for i := range 4 {
		twice := isa.NewVec()
		add(k(2), r, twice)
		if i < 3 {
			mul(twice, r, r)
		} else {
			r = timesPlus(k(1), twice, r)
		}
	}
	add(k(1<<52+1023), n, n) // the exponent of 2ⁿ is in the last bits
	emit(func() { VPSLLQ(operand.U8(52), n, n) })
	mul(n, r, r)
	return r
}

// roundedSqrt2Less1 is what Go takes for √2−1: 1+t less 1, where 1+t is rounded down to below √2.
const roundedSqrt2Less1 = 0x1.6a09e667f3bccp0 - 1

// log1pUnit64 returns ln(1+t) for t in [0, 1], or NaN: from √2−1 on as ln 2 + ln(1+f), 1+f = (1+t)/2,
// with c/(1+t) for the rounding error c of 1+t.
func log1pUnit64(t vec) vec {
	far := func() mask { return compare(isa.IsAtLeast, k(math.Nextafter(minimax.Sqrt2Less1, 1)), t) }
	u, low := isa.NewVec(), isa.NewVec()
	add(k(1), t, u)
	sub(k(1), u, low)
	sub(low, t, low)
	choose(compare(isa.IsAtLeast, k(2), u), k(0), low)
	div(u, low, low)
	add(k(minimax.LogLn2Low), low, low)
	mul(k(0.5), u, u)
	sub(k(1), u, u)

	f, rest, high := copyOf(t), zero(), zero()
	choose(compare(isa.IsEqual, k(minimax.Sqrt2Less1), t), k(roundedSqrt2Less1), f)
	choose(far(), u, f)
	choose(far(), low, rest)
	choose(far(), k(minimax.LogLn2High), high)
	y := logOf(f, rest, high, func(s vec) vec {
		square := product(s, s)
		return product(square, separate(square, minimax.LogSun[:]...))
	})
	tiny := product(t, t)
	mul(k(0.5), tiny, tiny)
	sub(tiny, t, tiny)
	choose(compare(isa.IsLess, k(1./(1<<29)), t), tiny, y)
	return y
}

// logOf returns high − ((f²/2 − (s·(f²/2 + R(s)) + low)) − f), s = f/(2+f): high + low + ln(1+f).
func logOf(f, low, high vec, series func(s vec) vec) vec {
	s := isa.NewVec()
	add(k(2), f, s)
	div(s, f, s)
	r := series(s)
	half := isa.NewVec()
	mul(k(0.5), f, half)
	mul(f, half, half)
	add(half, r, r)
	mul(s, r, r)
	add(low, r, r)
	sub(r, half, half)
	sub(f, half, half)
	y := isa.NewVec()
	sub(half, high, y)
	return y
}

// log64 returns ln a for a normal a > 0: a = 2ᵉ(1+f), 1+f in (√½, √2].
func log64(a vec) vec {
	e, f := isa.NewVec(), isa.NewVec()
	emit(func() { VPSRLQ(operand.U8(52), a, e) })
	or(k(1<<52), e, e)
	sub(k(1<<52+1022), e, e)
	and(bits64(1<<52-1), a, f)
	or(k(0.5), f, f)
	low := compare(isa.IsLess, k(math.Nextafter(minimax.SqrtHalf, 1)), f)
	subWhere(low, k(1), e)
	addWhere(low, f, f)
	sub(k(1), f, f)
	rest := isa.NewVec()
	mul(k(minimax.LogLn2Low), e, rest)
	mul(k(minimax.LogLn2High), e, e)
	return logOf(f, rest, e, func(s vec) vec {
		square := product(s, s)
		fourth := product(square, square)
		odd := product(square, separate(fourth, every(2, 0, minimax.LogSun[:])...))
		even := product(fourth, separate(fourth, every(2, 1, minimax.LogSun[:])...))
		add(even, odd, odd)
		return odd
	})
}

// The formulas of ln Γ in (0, 2), by where y = |x − origin| starts.
const (
	atOne = iota
	atLeast
	atTwo
)

// lgammaPieces are where ln Γ changes its formula in (0, 2), from 0 on. Below 1 it is that of x+1 less ln x.
var lgammaPieces = []struct {
	from, origin float64
	formula      int
}{
	{0, 0, atOne},
	{minimax.LgammaMiddle - 1 - minimax.LgammaReach, minimax.LgammaLeastAt - 1, atLeast},
	{minimax.LgammaMiddle - 1 + minimax.LgammaReach, 1, atTwo},
	{above0_9, 1, atOne},
	{minimax.LgammaMiddle - minimax.LgammaReach, minimax.LgammaLeastAt, atLeast},
	{minimax.LgammaMiddle + minimax.LgammaReach, 2, atTwo},
}

var above0_9 = math.Nextafter(0.9, 1)

// lgamma64 returns ln Γ(x) for a normal x > 0, infinity or NaN.
func lgamma64(x vec) vec {
	from := func(at float64) mask { return compare(isa.IsAtLeast, k(at), x) }
	y := copyOf(x)
	for _, p := range lgammaPieces[1:] {
		d := load(k(p.origin))
		if p.formula == atTwo {
			sub(x, d, d)
		} else {
			sub(d, x, d)
		}
		choose(from(p.from), d, y)
	}
	choose(from(2), fraction(x), y)

	// y(U(y)/V(y) − ½) from one on, yS(y)/R(y) + y/2 from two on, and 1/x for Stirling's series.
	quotient := product(y, separate(y, minimax.LgammaOne[:]...))
	choose(from(2), product(y, separate(y, minimax.LgammaTwo[:]...)), quotient)
	choose(from(8), k(1), quotient)
	under := separate(y, minimax.LgammaOneUnder[:]...)
	choose(from(2), separate(y, minimax.LgammaTwoUnder[:]...), under)
	choose(from(8), x, under)
	div(under, quotient, quotient)
	half, one, lg := isa.NewVec(), isa.NewVec(), isa.NewVec()
	mul(k(0.5), y, half)
	sub(half, quotient, one)
	add(half, quotient, half)

	least, two := lgammaNearLeast(y), lgammaBelowTwo(y)
	emit(func() { VMOVAPS(one, lg) })
	for _, p := range lgammaPieces[1:] {
		choose(from(p.from), [...]vec{atOne: one, atLeast: least, atTwo: two}[p.formula], lg)
	}
	logA := log64(lgammaLogOf(x, y, from))
	add(logA, half, half)
	sub(logA, lg, lg)
	add(k(0), lg, lg) // so that ln Γ(1) is not −0
	choose(from(2), half, lg)

	square := product(quotient, quotient)
	rest := product(quotient, separate(square, minimax.LgammaStirling[1:]...))
	add(k(minimax.LgammaStirling[0]), rest, rest)
	sub(k(1), logA, logA)
	large := isa.NewVec()
	sub(k(0.5), x, large)
	mul(logA, large, large)
	add(rest, large, large)
	choose(from(8), large, lg)
	choose(compare(isa.IsNotBelow, k(math.Inf(1)), x), x, lg)
	return lg
}

// lgammaNearLeast is ln Γ at y from its minimum: in turns of three coefficients, each a polynomial in y³.
func lgammaNearLeast(y vec) vec {
	square := product(y, y)
	cube := product(square, y)
	part := func(i int) vec { return separate(cube, every(3, i, minimax.LgammaLeastPolynomial[:])...) }
	p := part(2)
	mul(y, p, p)
	add(part(1), p, p)
	mul(cube, p, p)
	tail := load(minimax.LgammaLeastTail)
	sub(p, tail, tail)
	first := part(0)
	mul(square, first, first)
	sub(tail, first, first)
	add(k(minimax.LgammaLeast), first, first)
	return first
}

// lgammaBelowTwo is ln Γ(2−y): in turns of two coefficients, each a polynomial in y².
func lgammaBelowTwo(y vec) vec {
	square := product(y, y)
	even := separate(square, every(2, 0, minimax.LgammaBelowTwo[:])...)
	odd := separate(square, every(2, 1, minimax.LgammaBelowTwo[:])...)
	mul(square, odd, odd)
	mul(y, even, even)
	add(odd, even, even)
	half := isa.NewVec()
	mul(k(0.5), y, half)
	sub(half, even, even)
	return even
}

// lgammaLogOf is the a of ± ln a in ln Γ(x): x below 0.9, 1 up to 2, (y+2)(y+3)… = Γ(x)/Γ(2+y) up to 8, then x.
func lgammaLogOf(x, y vec, from func(float64) mask) vec {
	z := load(1)
	for i := 7; i >= 3; i-- {
		factor := isa.NewVec()
		add(k(i-1), y, factor)
		mulWhere(from(float64(i)), factor, z)
	}
	choose(compare(isa.IsLess, k(above0_9), x), x, z)
	choose(from(8), x, z)
	return z
}

package simd

import (
	"fmt"
	"math"
	"slices"

	"calibra/graph/simd/internal/minimax"
)

// Exp sets dst = eˣ within 1.1 ulp. Underflow is gradual; e^−∞ = 0, e^+∞ = +∞.
// It panics if the lengths differ; dst may be x.
func Exp(dst, x []float32) { apply("Exp", sets[isa].exp, expPortable, dst, x) }

// Softplus sets dst = ln(1+eˣ) within 2 ulp: eˣ far below zero, x far above. It
// panics if the lengths differ; dst may be x.
func Softplus(dst, x []float32) {
	sameLength("Softplus", len(dst), len(x))
	softplusKernel(dst, x, 0)
}

// Sigmoid sets dst = 1/(1+e^−x), the derivative of Softplus, within 2.5 ulp. It
// panics if the lengths differ; dst may be x.
func Sigmoid(dst, x []float32) { apply("Sigmoid", sets[isa].sigmoid, sigmoidPortable, dst, x) }

func sameLength(function string, lengths ...int) {
	for _, n := range lengths[1:] {
		if n != lengths[0] {
			panic(fmt.Sprintf("simd: %s of slices of lengths %v", function, slices.Clone(lengths)))
		}
	}
}

// The portable path evaluates the same polynomials in float64 and rounds once.

func expPortable(dst, x []float32) {
	for i, v := range x {
		dst[i] = float32(exp(float64(v)))
	}
}

func softplusPortable(dst, x []float32, epsilon float32) {
	for i, v := range x {
		dst[i] = float32(softplus(float64(v), exp(-math.Abs(float64(v))))) + epsilon
	}
}

func sigmoidPortable(dst, x []float32) {
	for i, v := range x {
		dst[i] = float32(sigmoid(float64(v), exp(-math.Abs(float64(v)))))
	}
}

func softplusSigmoidPortable(alpha, sigma, a []float32, epsilon float32) {
	for i, v := range a {
		x := float64(v)
		t := exp(-math.Abs(x))
		alpha[i] = float32(softplus(x, t)) + epsilon
		sigma[i] = float32(sigmoid(x, t))
	}
}

// The polynomials of package minimax in float64.
var (
	expPolynomial         = widen(minimax.Exp[:])
	logPolynomial         = widen(minimax.Log[:])
	artanhPolynomial      = widen(minimax.Artanh[:])
	lgammaPolynomial      = widen(minimax.LgammaUnit[:])
	digammaPolynomial     = widen(minimax.DigammaUnit[:])
	stirlingPolynomial    = widen(minimax.Stirling[:])
	digammaTailPolynomial = widen(minimax.DigammaTail[:])
)

// polynomial holds coefficients, the highest power first, zeros in front.
type polynomial [12]float64

func widen(c []float32) *polynomial {
	var p polynomial
	for i, v := range c {
		p[len(p)-1-i] = float64(v)
	}
	return &p
}

// of4, of8 and of12 return the value at x of a polynomial of at most 4, 8 and 12
// coefficients: two chains, of the even powers and the odd.
func (p *polynomial) of4(x float64) float64 {
	s := x * x
	return (p[9]*s + p[11]) + x*(p[8]*s+p[10])
}

func (p *polynomial) of8(x float64) float64 {
	s := x * x
	return (((p[5]*s+p[7])*s+p[9])*s + p[11]) + x*(((p[4]*s+p[6])*s+p[8])*s+p[10])
}

func (p *polynomial) of12(x float64) float64 {
	s := x * x
	return (((((p[1]*s+p[3])*s+p[5])*s+p[7])*s+p[9])*s + p[11]) + x*(((((p[0]*s+p[2])*s+p[4])*s+p[6])*s+p[8])*s+p[10])
}

// exp returns eˣ = 2ⁿ·eʳ for a float32 x, to 5e-9 relative.
func exp(x float64) float64 {
	if x != x {
		return x
	}
	x = min(max(x, minimax.ExpLowest), minimax.ExpHighest)
	n := math.RoundToEven(x * minimax.Log2E)
	r := x - n*math.Ln2
	y := 1 + (r + r*r*expPolynomial.of8(r))
	return y * math.Float64frombits(uint64(1023+int64(n))<<52)
}

// log returns ln x = e·ln 2 + ln(1+f) for a float32 x, to 6e-9 relative.
func log(x float64) float64 {
	switch {
	case x != x || x > math.MaxFloat64:
		return x
	case x == 0:
		return math.Inf(-1)
	case x < 0:
		return math.NaN()
	}
	i := math.Float64bits(x) - threeQuarters
	e := float64(int64(i) >> 52)
	f := math.Float64frombits(i&(1<<52-1)+threeQuarters) - 1
	return e*math.Ln2 + (f - f*f/2 + f*f*f*logPolynomial.of8(f))
}

const threeQuarters = 0x3fe8000000000000 // ¾ in float64

// softplus returns ln(1+eˣ) = max(x, 0) + ln(1+t), t = e^−|x|, with s = t/(2+t) and
// ln(1+t) = 2·artanh s.
func softplus(x, t float64) float64 {
	s := t / (2 + t)
	y := t - s*(t-s*s*artanhPolynomial.of4(s*s))
	if x > 0 {
		y += x
	}
	return y
}

// sigmoid returns 1/(1+e^−x), t = e^−|x|.
func sigmoid(x, t float64) float64 {
	if x >= 0 {
		return 1 / (1 + t)
	}
	return t / (1 + t)
}

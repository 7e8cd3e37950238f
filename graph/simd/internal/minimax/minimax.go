// Package minimax holds the polynomials behind the elementary functions of
// package simd, shared by the generated assembly and the Go path.
//
// Each polynomial is the minimax fit of its degree on the stated interval, found by the Remez algorithm in 50 digits.
// Its coefficients were then rounded to float32; the lowest power comes first. The stated error is the relative error
// of the rounded polynomial in exact arithmetic; half an ulp of float32 is 6.0e-8.
package minimax

// Range reduction.
const (
	Log2E          = 1.44269504088896341
	Ln2High        = 0x1.62e4p-1               // the leading 15 bits of ln 2, so that n·Ln2High is exact
	Ln2Low         = 1.42860682030941723212e-6 // ln 2 − Ln2High
	SmallestNormal = 0x1p-126

	ExpHighest     = 89       // e⁸⁹ is above the largest float32
	ExpLowest      = -104     // e⁻¹⁰⁴ is below half the smallest
	GaussianLowest = -87.3365 // e to this is the smallest normal float32
)

// Exp is (eʳ − 1 − r)/r² on |r| ≤ ln 2 / 2; error of eʳ 5e-9.
var Exp = [...]float32{0.5, 0.166665137, 0.0416661911, 0.00836953055, 0.00139515661}

// Log is (ln(1+f) − f + f²/2)/f³ on −¼ ≤ f ≤ ½; error of ln(1+f) 5e-9.
var Log = [...]float32{
	0.333334476, -0.250001937, 0.199911162, -0.166437626,
	0.144673899, -0.131864384, 0.105836205, -0.0461816825,
}

// Artanh is (2·artanh s − 2s)/s³ in s², on s² ≤ 1/9; error of artanh s 6e-10.
var Artanh = [...]float32{0.666664243, 0.400210977, 0.280075938, 0.279875278}

// LgammaUnit is ln Γ(z)/((z−1)(z−2)) in z − 3/2, on [1, 2]; error 4e-8.
var LgammaUnit = [...]float32{
	0.483128965, -0.145959899, 0.0629110485, -0.0313079916, 0.016808223,
	-0.00943649281, 0.00532519072, -0.00311588706, 0.00244835229, -0.00152644003,
}

// DigammaUnit is ψ(z)/(z−x₀) in z − 3/2, on [1, 2], x₀ the zero of ψ; error 2e-8.
var DigammaUnit = [...]float32{
	0.951055884, -0.423627496, 0.24054262, -0.148398787, 0.0949820802, -0.0620570742,
	0.0408793576, -0.0257810187, 0.0169803258, -0.0163840838, 0.0111187836,
}

// x₀ = DigammaZeroHigh + DigammaZeroLow, the positive zero of ψ; High has 24 bits.
const (
	DigammaZeroHigh = 1.4616321325302124
	DigammaZeroLow  = 1.24381499389e-8
)

// Stirling is x·(ln Γ(x) − (x−½)·ln x + x − ½·ln 2π) in 1/x², on x ≥ 3; error of
// ln Γ 4e-9.
var Stirling = [...]float32{0.0833332688, -0.00277282833, 0.000697382959}

// HalfLogTwoPiLess is (ln 2π − 1)/2.
const HalfLogTwoPiLess = 0.41893853320467274178

// DigammaTail is x²·(ln x − 1/(2x) − ψ(x)) in 1/x², on x ≥ 3; error of ψ 4e-9.
var DigammaTail = [...]float32{0.083332628, -0.00829218514, 0.0032680505}

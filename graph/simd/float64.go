package simd

import "math"

// The float64 functions are the reference that the float32 kernels are checked
// against, and the precision of gradient checks and of predictions. Those of single
// numbers are plain Go.

// Softplus64 returns ln(1+eˣ).
func Softplus64(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

// SoftplusPlus64 sets dst = ln(1+eˣ) + ε, the bits of Softplus64(x) + ε on amd64. It panics if the
// lengths differ; dst may be x.
func SoftplusPlus64(dst, x []float64, epsilon float64) {
	sameLength("SoftplusPlus64", len(dst), len(x))
	k := sets[isa].softplus64
	if k != nil && len(x) > 0 && epsilon >= 1e-100 { // the kernel takes e⁻³⁰⁰ for what is less
		k(&dst[0], &x[0], len(x), epsilon)
		return
	}
	for i, v := range x {
		dst[i] = Softplus64(v) + epsilon
	}
}

// Lgamma64 sets dst = ln |Γ(x)|, the bits of [math.Lgamma] on amd64; its kernels are for normal x > 0.
// It panics if the lengths differ; dst may be x.
func Lgamma64(dst, x []float64) {
	k := sets[isa].lgamma64
	for _, v := range x {
		if v < 0x1p-1022 {
			k = nil
			break
		}
	}
	apply("Lgamma64", k, lgamma64Portable, dst, x)
}

// ExpNegative64 sets dst = eˣ for x ≤ 0, the bits of [math.Exp] on amd64, and e⁻³⁰⁰ for x < −300. It panics if the
// lengths differ; dst may be x.
func ExpNegative64(dst, x []float64) {
	apply("ExpNegative64", sets[isa].expNegative64, expNegative64Portable, dst, x)
}

// Log64 sets dst = ln x, the bits of [math.Log] on amd64; its kernels are for normal x > 0. It panics if the lengths
// differ; dst may be x.
func Log64(dst, x []float64) {
	k := sets[isa].log64
	for _, v := range x {
		if !(v >= 0x1p-1022 && v <= math.MaxFloat64) {
			k = nil
			break
		}
	}
	apply("Log64", k, log64Portable, dst, x)
}

func expNegative64Portable(dst, x []float64) {
	for i, v := range x {
		dst[i] = math.Exp(max(v, -300))
	}
}

func log64Portable(dst, x []float64) {
	for i, v := range x {
		dst[i] = math.Log(v)
	}
}

func lgamma64Portable(dst, x []float64) {
	for i, v := range x {
		dst[i], _ = math.Lgamma(v)
	}
}

// Sigmoid64 returns 1/(1+e^−x), the slope of softplus.
func Sigmoid64(x float64) float64 { return sigmoid(x, math.Exp(-math.Abs(x))) }

// SoftplusSigmoid64 returns both, of one exponential.
func SoftplusSigmoid64(x float64) (y, slope float64) {
	t := math.Exp(-math.Abs(x))
	return max(x, 0) + math.Log1p(t), sigmoid(x, t)
}

// LgammaDigamma64 returns ln Γ(x) and ψ(x) for x ≥ 0, NaN below; absolute error of
// ψ a few 1e-16, or as many ulp where it is large.
func LgammaDigamma64(x float64) (lg, psi float64) {
	switch {
	case !(x >= 0):
		return math.NaN(), math.NaN()
	case math.IsInf(x, 1):
		return x, x
	case x == 0:
		return math.Inf(1), math.Copysign(math.Inf(1), -x)
	}
	lg, _ = math.Lgamma(x)
	return lg, Digamma64(x)
}

// Digamma64 returns ψ(x) for x > 0, as [LgammaDigamma64] does.
func Digamma64(x float64) (psi float64) {
	if !(x > 0) || math.IsInf(x, 1) {
		_, psi = LgammaDigamma64(x)
		return psi
	}
	for ; x < 10; x++ {
		psi -= 1 / x
	}
	// ψ(x) = ln x − 1/(2x) − Σ B₂ₙ/(2n·x²ⁿ), https://dlmf.nist.gov/5.11#E2; the first
	// term left out is below 1e-17 from x = 10 on.
	v := 1 / (x * x)
	series := v * (1./12 - v*(1./120-v*(1./252-v*(1./240-v*(1./132-v*(691./32760-v*(1./12-v*3617./8160)))))))
	return psi + (math.Log(x) - 0.5/x - series)
}

// DirichletTerms64 computes, for every entry a of the calibrator's matrix A (the
// paper's receiver–sender product), what the Dirichlet score and its gradient need:
//
//	α = softplus(a) + ε    σ = dα/da    lg = ln Γ(α)    ψ = ψ(α)
//
// alpha may be a. It panics if the lengths differ.
func DirichletTerms64(alpha, sigma, lg, psi, a []float64, epsilon float64) {
	sameLength("DirichletTerms64", len(alpha), len(sigma), len(lg), len(psi), len(a))
	for i, v := range a {
		alpha[i], sigma[i] = SoftplusSigmoid64(v)
		alpha[i] += epsilon
		psi[i] = Digamma64(alpha[i])
	}
	Lgamma64(lg, alpha)
}

// Outer64 and the others are those of float32 in double precision; they leave the checks to Go.

func Outer64(m, a, b []float64)                               { outerPortable(m, a, b) }
func Axpy64(y []float64, a float64, x []float64)              { axpyPortable(y, a, x) }
func AddToRows64(table, x []float64, codes []int32, k int)    { addToRowsPortable(table, x, codes, k) }
func SumRows64(y, table []float64, codes []int32, k int)      { sumRowsPortable(y, table, codes, k) }
func SumListed64(y, x []float64, list []int32)                { sumRowsPortable(y, x, list, 0) }
func AddShares64(table, x []float64, at []int32, e []float64) { addSharesPortable(table, x, at, e) }
func SumShares64(y, table []float64, c int, begin int32, ends, places []int32, shares []float64) {
	clear(y)
	sumSharesPortable(y, table, c, begin, ends, places, shares)
}

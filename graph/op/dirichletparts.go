package op

import "calibra/graph/simd"

// The scores of one matrix A (C×C) are sums over its rows, so that some rows at a time are
// enough for them and for their gradients. A row may stand for several classes: with count n
// its concentrations are n·(softplus(A) + ε).

// addScores adds rows of A (R×C) to the sums behind the scores,
//
//	sum_j += Σ_i α_ij ,  rest_j += Σ_i (α_ij − 1) log p̂_i − log Γ(α_ij)
func addScores[F Float](sum, rest, a, logp []F, count F) {
	if a, ok := any(a).([]float32); ok {
		simd.DirichletPart(any(sum).([]float32), any(rest).([]float32), a, any(logp).([]float32), float32(count), AlphaFloor)
		return
	}
	c := len(sum)
	for i, l := range logp {
		for j, v := range a[i*c : (i+1)*c] {
			alpha := float64(count) * (simd.Softplus64(float64(v)) + AlphaFloor)
			sum[j] += F(alpha)
			rest[j] += F((alpha-1)*float64(l) - lgamma(alpha))
		}
	}
}

// endScores turns rest into score_j = rest_j + log Γ(sum_j) + δ log p̂_j; sum is overwritten.
func endScores[F Float](rest, sum, logp []F, delta F) {
	if x, ok := any(sum).([]float32); ok {
		simd.Lgamma(x, x)
	} else {
		for j, v := range sum {
			sum[j] = F(lgamma(float64(v)))
		}
	}
	for j, v := range sum {
		rest[j] += v + F(delta*logp[j]) // never fused, as arm64 might
	}
}

// addColumns adds the rows' Σ_i α_ij to sum.
func addColumns[F Float](sum, a []F, count F) {
	if a, ok := any(a).([]float32); ok {
		simd.DirichletColumns(any(sum).([]float32), a, float32(count), AlphaFloor)
		return
	}
	for at, v := range a {
		sum[at%len(sum)] += F(float64(count) * (simd.Softplus64(float64(v)) + AlphaFloor))
	}
}

// digammas sets x to ψ(x).
func digammas[F Float](x []F) {
	if x, ok := any(x).([]float32); ok {
		simd.Digamma(x, x)
		return
	}
	for j, v := range x {
		x[j] = F(simd.Digamma64(float64(v)))
	}
}

// setGradients replaces rows of A by ∂/∂A_ij of Σ_j g_j·score_j, psi_j being ψ(Σ_l α_lj):
//
//	g_j (log p̂_i − ψ(α_ij) + psi_j) · n sigmoid(A_ij)
func setGradients[F Float](a, logp, psi, g []F, count F) {
	if a, ok := any(a).([]float32); ok {
		simd.DirichletPartGradient(a, a, any(logp).([]float32), any(psi).([]float32), any(g).([]float32), float32(count), AlphaFloor)
		return
	}
	c := len(g)
	for i, l := range logp {
		for j, v := range a[i*c : (i+1)*c] {
			y, derivative := simd.SoftplusSigmoid64(float64(v))
			alpha := float64(count) * (y + AlphaFloor)
			a[i*c+j] = F(float64(g[j]) * (float64(l) - simd.Digamma64(alpha) + float64(psi[j])) * float64(count) * derivative)
		}
	}
}

// setWeights sets dlogp_i to Σ_j g_j (α_ij − 1), the gradient of Σ_j g_j·score_j by log p̂_i.
func setWeights[F Float](dlogp, a, g []F, count F) {
	c := len(g)
	for i := range dlogp {
		var sum float64
		for j, v := range a[i*c : (i+1)*c] {
			sum += float64(g[j]) * (float64(count)*(simd.Softplus64(float64(v))+AlphaFloor) - 1)
		}
		dlogp[i] = F(sum)
	}
}

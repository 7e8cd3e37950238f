package simd

import "fmt"

// DirichletPart adds some rows of one matrix A to the sums that its C scores are made of,
//
//	sum_j += Σ_i α_ij ,  rest_j += Σ_i (α_ij − 1)·log p̂_i − ln Γ(α_ij) ,  α = softplus(A) + ε ,
//
// with a R×C, logp R and sum and rest C. The scores are then rest_j + ln Γ(sum_j) + δ·log p̂_j, those of
// [DirichletScores] to the bit if its rows came in order. It panics if the lengths disagree.
func DirichletPart(sum, rest, a, logp []float32, epsilon float32) {
	c, step := mustBePart("DirichletPart", len(sum), len(a), len(logp), len(rest))
	w := newDirichletSpace(step*c, c)
	for i := 0; i < len(logp); i += step {
		rows := logp[i:min(i+step, len(logp))]
		part := a[i*c:][:len(rows)*c]
		alpha, lg := w.alpha[:len(part)], w.lg[:len(part)]
		softplusKernel(alpha, part, epsilon)
		Lgamma(lg, alpha)
		scoreSumsKernel(sum, rest, alpha, lg, rows)
	}
	dirichlets.Put(w)
}

// DirichletColumns is the part of [DirichletPart] that the gradients need first: it adds
// Σ_i α_ij to sum.
func DirichletColumns(sum, a []float32, epsilon float32) {
	c, step := mustBePart("DirichletColumns", len(sum), len(a), len(a)/max(1, len(sum)), len(sum))
	w := newDirichletSpace(step*c, c)
	for at := 0; at < len(a); at += step * c {
		part := a[at:min(at+step*c, len(a))]
		alpha := w.alpha[:len(part)]
		softplusKernel(alpha, part, epsilon)
		columnSumsKernel(sum, alpha)
	}
	dirichlets.Put(w)
}

// DirichletPartGradient sets, for some rows of one matrix A,
//
//	da_ij = g_j·(log p̂_i − ψ(α_ij) + psi_j)·σ(A_ij) ,
//
// with psi_j = ψ(Σ_l α_lj), in the shapes of [DirichletPart]. It panics if the lengths
// disagree; da may be a.
func DirichletPartGradient(da, a, logp, psi, g []float32, epsilon float32) {
	c, step := mustBePart("DirichletPartGradient", len(g), len(a), len(logp), len(psi))
	sameLength("DirichletPartGradient", len(da), len(a))
	w := newDirichletSpace(step*c, c)
	for i := 0; i < len(logp); i += step {
		rows := logp[i:min(i+step, len(logp))]
		at, end := i*c, (i+len(rows))*c
		alpha, gradient := w.alpha[:end-at], da[at:end]
		softplusSigmoidKernel(alpha, gradient, a[at:end], epsilon)
		Digamma(alpha, alpha)
		slopesKernel(gradient, alpha, psi, g, rows)
	}
	dirichlets.Put(w)
}

// mustBePart is C and how many rows go through the kernels at a time.
func mustBePart(function string, c, entries, rows, others int) (classes, step int) {
	if c <= 0 || entries != rows*c || others != c {
		panic(fmt.Sprintf("simd: %s of %d classes: %d entries of A, %d rows, %d of another row", function, c, entries, rows, others))
	}
	_, step = dirichletParts(c)
	return c, step
}

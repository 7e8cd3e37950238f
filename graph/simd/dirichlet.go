package simd

// dirichletBlock keeps the five arrays of one block in a first-level cache.
const dirichletBlock = 1024

// DirichletTerms computes, for every entry a of the calibrator's matrix A (the
// paper's receiver–sender product), what the Dirichlet score and its gradient need:
//
//	α = softplus(a) + ε    σ = dα/da    lg = ln Γ(α)    ψ = ψ(α)
//
// in cache-sized blocks. alpha may be a. It panics if the lengths differ.
func DirichletTerms(alpha, sigma, lg, psi, a []float32, epsilon float32) {
	sameLength("DirichletTerms", len(alpha), len(sigma), len(lg), len(psi), len(a))
	for lo := 0; lo < len(a); lo += dirichletBlock {
		hi := min(lo+dirichletBlock, len(a))
		softplusSigmoidKernel(alpha[lo:hi], sigma[lo:hi], a[lo:hi], epsilon)
		lgammaDigammaKernel(lg[lo:hi], psi[lo:hi], alpha[lo:hi])
	}
}

// DirichletValues is the part of DirichletTerms that a forward pass needs:
// α = softplus(a) + ε and lg = ln Γ(α). alpha may be a. It panics if the lengths
// differ.
func DirichletValues(alpha, lg, a []float32, epsilon float32) {
	sameLength("DirichletValues", len(alpha), len(lg), len(a))
	for lo := 0; lo < len(a); lo += dirichletBlock {
		hi := min(lo+dirichletBlock, len(a))
		softplusKernel(alpha[lo:hi], a[lo:hi], epsilon)
		lgammaKernel(lg[lo:hi], alpha[lo:hi])
	}
}

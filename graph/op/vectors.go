package op

import "calibra/graph/simd"

// What maps, rules and studies compute outside of a graph, by the kernels that ops run.

// Codebook is a codebook prepared for the search of nearest codewords.
type Codebook = simd.Codebook

// Adam is one step of Adam.
type Adam = simd.Adam

// NearestRows sets codes to the codeword of c nearest to each slot of x.
func NearestRows(codes []int32, x []float32, c *Codebook) { simd.NearestRows(codes, x, c) }

// NearestCentred is NearestRows of the slots of features (N×M) less centre (M).
func NearestCentred(codes []int32, features []float32, centre []float64, c *Codebook) {
	simd.NearestCentred(codes, features, centre, c)
}

// SumCodes sets y to Σ_i T_i[codes_i] over tables T_i of k rows each.
func SumCodes(y, table []float32, codes []int32, k int) { simd.SumRows(y, table, codes, k) }

// DirichletRows sets scores (B×C) from A (B×C×C), log p̂ (B×C), the weight of δ and ε.
func DirichletRows(scores, a, logp []float32, c int, identity, epsilon float32) {
	simd.DirichletScores(scores, a, logp, c, identity, epsilon)
}

// DirichletTerms64 sets, of A, α = softplus(A) + ε, its slope, ln Γ(α) and ψ(α).
func DirichletTerms64(alpha, slope, logGamma, digamma, a []float64, epsilon float64) {
	simd.DirichletTerms64(alpha, slope, logGamma, digamma, a, epsilon)
}

// LgammaDigamma64 is ln Γ(x) and ψ(x).
func LgammaDigamma64(x float64) (logGamma, digamma float64) { return simd.LgammaDigamma64(x) }

// Dot is Σ x_i y_i.
func Dot(x, y []float32) float32 { return simd.Dot(x, y) }

// ExpRow sets dst to eˣ.
func ExpRow(dst, x []float32) { simd.Exp(dst, x) }

// GaussianRow turns the products of a point with others into kernel values exp(−‖x − x_j‖²/2γ²), of the squared norms
// squares of the others and square of the point.
func GaussianRow(row, squares []float32, square, gamma float32) {
	simd.GaussianRow(row, squares, square, gamma)
}

// Package layers holds what is learned: the paper's quantizer, its calibrators,
// and the frame in which a researcher writes another.
//
// # The line from features to calibrated probabilities
//
//	data.Set ──► Base ──► View (log p̂, codes) ──► Map ──► log-probabilities
//
// A [Base] is the predictor that is to be calibrated, and how it divides the
// latent space: [Divide] is the paper's stage 1 (codebook with moving averages and
// quantized linear head), [Original] the classifier's own logits, undivided. A
// [Map] is a calibration map as a graph: [Bilinear] is the paper's stage 2,
// [Dirichlet] the single global map. [Train] fits a Map on a Base:
//
//	Train(&Divide{}, &Bilinear{}, …)   the paper's calibrator   (vq)
//	Train(&Divide{}, Identity{}, …)    the quantized head alone (vq-nc)
//	Train(&Divide{}, Dirichlet{}, …)   one map for all regions  (vq-dc)
//
// # The calibrator as one matrix product
//
// With σ² the slot scales and n_k(V) = Σ_i σ_i² 1[s(i)=k] the codeword mass of a
// region V, equation 2 of the paper is
//
//	A(V) = Σ_i σ_i² a_s(i) b_s(i)ᵀ = Σ_k n_k(V) a_k b_kᵀ
//
// so a batch is one product of the B×K mass with the K×C² outer products. Then,
// α being C×C with row i the predicted and column j the true class,
//
//	α = softplus(A) + ε
//	score_j = log π_j − log B(α_·j) + Σ_i (α_ij − 1 + δ_ij) log p̂_i
//	posterior = softmax(score)
//
// # Changing the parameterization
//
// Copy bilinear.go, change LogProbs, and pass the new Map to Train. Add a row to
// the table of gradient_test.go, which fails while it is missing.
package layers

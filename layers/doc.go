// Package layers is the paper's calibrator: the quantizer that divides the latent space,
// the bilinear Dirichlet map of each region, and the frame in which a researcher writes
// another map. Package layers/anchored holds maps beyond the paper, layers/baselines the
// methods that the paper compares with.
//
// # From features to calibrated probabilities
//
//	data.Set ──► Base ──► View (log p̂, codes) ──► Map ──► log-probabilities
//
// A [Base] is the predictor to be calibrated and how it divides the latent space:
// [Divide] is the paper's stage 1 (codebook with moving averages, linear head on the
// quantized features), [Original] the classifier's own logits, undivided. A [Map] is a
// calibration map as a graph: [Bilinear] is the paper's stage 2, [Dirichlet] one global
// map, [Identity] none. [Train] fits a Map on a Base:
//
//	Train(&Divide{}, Bilinear{}, …)    the paper's calibrator   (vq)
//	Train(&Divide{}, Identity{}, …)    the quantized head alone (vq-nc)
//	Train(&Divide{}, Dirichlet{}, …)   one map for all regions  (vq-dc)
//
// Fit and predict:
//
//	vq := Train(&Divide{}, Bilinear{}, optim.Settings{})
//	err := vq.Fit(ctx, cal, val, rng)   // cal, val and test are *data.Set
//	p, err := vq.Predict(test)          // p.LogProbs is N×C
//
// Optional abilities of a calibrator, a base or a map are small interfaces; interfaces.go lists them and says which
// code uses each.
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
// # Shapes, units, errors
//
// Features are N×M, logits and log-probabilities N×C, codes N×w, or N×p of slots with several ([Assignment]). Losses
// are in nats per row.
//
// Fit and Predict return an error of one sentence if a set lacks the features, logits or labels that a method needs,
// has another width than in the fit, has labels outside the classes, or gives a loss that is not finite. Predict before
// Fit is an error too. If the number of slots does not divide M, or there are more codewords than rows, the error is a
// [*SettingError]; for a damaged model file it is a [*data.InputError]. Functions that describe a graph (LogProbs,
// Form, Assign) report errors to their Builder, and compiling the graph returns the first one.
//
// # Changing the parameterization
//
// "calibra new DIR --map" writes a module with [Bilinear] in full, under a name of its own, with tests. Change its
// LogProbs there. If only the prior or the slot scale differs, write a type that implements [Prior] or [SlotScale], and
// put it into the field of [Bilinear]. A map of this package gets a row in the table of gradient_test.go, which fails
// while it is missing.
package layers

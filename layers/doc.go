// Package layers holds what is learned: the paper's quantizer, its calibrators,
// and the frame in which a researcher writes another.
//
// # The line from features to calibrated probabilities
//
//	data.Set ──► Base ──► View (log p̂, codes) ──► Map ──► log-probabilities
//
// A [Base] is the predictor that is to be calibrated, and how it divides the
// latent space: [Divide] is the paper's stage 1 (codebook with moving averages and
// quantized linear head), [Original] the classifier's own logits, undivided, [Anchor]
// those logits with a codebook's regions. A
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
// # Beyond the paper: corrections anchored in the original head
//
// The quantized head knows of a row its codewords alone, so what the original head
// knew beside them is lost before calibration begins, and with it accuracy. Nor does
// Proposition 2 help there: its premise, a p̂ that says what the region does not, is
// all but empty where p̂ is a function of the region. An anchored map takes p̂ from the
// original head at its best temperature ([Anchor]) and lets the codewords correct it:
//
//	Tempered           softmax(t log p̂)                     1 parameter; TS, w = 0
//	OrderPreserving    softmax(f(z)), f increasing           13, z the logits / T
//	LocalTemperature   softmax(e^(τ + Σ_i h_i,s(i)) log p̂)   1 + w·K
//	ShrunkDirichlet    scores + clr(p̂) Δ + b                 C² + C more
//	SlotHead           scores + Σ_i ĉ_i,s(i) V_i             M·C more
//	Anchored           scores + Σ_i h_i,s(i)                 w·K·C more
//	Gated              a mixture of Tempered and Anchored    3 + w·K·C
//	Bilinear           the paper's α(V), on this p̂           2·K·C + C
//
// All but the first and the last are [Hierarchical]: a coarser map, whose scores are
// those of Tempered unless another is named, and a correction of prior N(0, σ²). The
// prior's part in the loss is that of 1/N, the rows' that of N_ik/N, so a codeword
// moves away from the coarser map as far as its support N_ik carries it, which is when
// to apply a local correction and when to rely on the global one. σ = 0 is the coarser
// map. [Auto] learns each σ, and which map to use, by cross-validation over the
// calibration rows. On Tempered the loss of the maps that add to scores is convex, so
// L-BFGS over all rows finds the optimum and no minibatch noise is left in it.
//
// The order-preserving map is there because a head that ranks the classes without
// fault must not pay for a better NLL with its accuracy; for the same reason Auto
// leaves out candidates whose held-out accuracy falls by more than its standard error.
//
// The cost is that of the choice: each spread that is tried is a fit of each fold, each
// iteration a pass of N·w·C additions there and back. A coarser map is fitted once for
// all that build on it, each spread starts from the last, and what is only to be judged
// is fitted in float32 until ten iterations gain less than 5e-5 nats. Prediction is one
// sum of w table rows.
//
// What it gains, as calibra study beyond --split paper --seeds 42 prints it (NLL):
//
//	                auto   anchored  VQ     SM     TS
//	CIFAR-10        .435   .441      .451   .438   .464
//	letter          .152   .153      .175   .162   .168
//	satellite       .239   .239      .277   .243   .249
//	digits          .083   .081      .123   .081   .081
//	cubic           .811   .842      .817   .843   .845
//	proximity       .583   .582      .673   .586   .592
//
// It is no free gain. On digits, 540 calibration rows, the rule toward the simpler
// keeps one temperature where the anchored map is better. On cubic, whose logits are
// wrong by a monotone function and therefore rank the classes without fault, the head
// on the features lowers NLL and costs .017 of accuracy. Local error above its noise
// floor hardly tells the anchored maps from structured matrix scaling.
//
// The paper's calibrator is to be preferred where there are no logits or where they
// are not to be trusted: it needs features alone, and is not held to the errors of a
// head that it does not see. It also has fewer parameters where w·C is large, for its
// receivers and senders are shared among the slots.
//
// # Shapes, units, errors
//
// Features are N×M, logits and log-probabilities N×C, codes N×w; losses are nats a row.
// Fit and Predict return an error of one sentence where a set lacks the features, logits
// or labels that a method needs, has another width than it was fitted on, or gives a
// loss that is not finite, and Predict before Fit. Slots that do not divide M and
// codewords that outnumber the rows are a [*SettingError], a damaged model file is a
// [*data.InputError]. What describes a graph (LogProbs, Form, Assign) reports to its
// Builder, and the function that is compiled returns the first fault.
//
// # Changing the parameterization
//
// Copy bilinear.go, change LogProbs, and pass the new Map to Train. Add a row to
// the table of gradient_test.go, which fails while it is missing.
package layers

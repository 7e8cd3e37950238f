// Package anchored goes beyond the paper. It has calibration maps that start from the classifier's own logits, which
// codewords correct, their mixture, and the pool of such a mixture with other calibrators.
//
// # What it is for
//
// The paper's quantized head sees only the codewords of a row. It loses whatever else the classifier knew, and some
// accuracy. A method of this package starts from the classifier's logits at their best temperature and corrects them
// region by region. Use it if you have logits and accuracy must not fall. Use the paper's calibrator (package layers)
// if you have only features, or do not trust the logits.
//
//	data.Set ──► Anchor ──► View (log p̂ at temperature T, codes) ──► Map ──► log-probabilities
//
// # The maps
//
// N rows, C classes, w slots, K codewords; s(i) is the codeword of slot i.
//
//	map                posterior                                 parameters
//	Tempered           softmax(t log p̂)                          1
//	OrderPreserving    softmax(f(z)), f increasing               13, z the logits / T
//	ShrunkDirichlet    softmax(scores + clr(p̂) Δ + b)            C² + C more
//	Linear             softmax(scores + z V), z the features     M·C more
//	Tables             softmax(scores + Σ_i h_i,s(i))            w·K·C more
//	Settled            the map of another fit, as it is          none
//
// Each map but Tempered and Settled is [Hierarchical]: a coarser map and a correction σ·u of it with
// the prior u ~ N(0, 1). The fit minimizes
//
//	mean NLL + 1/(2N) Σ u²
//
// A codeword with few rows therefore stays near the coarser map, and one with many rows moves as far as they
// require. σ = 0 gives the coarser map. The paper's own map runs on an [Anchor] too:
// layers.Train(&Anchor{}, layers.Bilinear{}, …).
//
// # How strong a prior, and which map
//
// [Joint] finds every σ by cross-validation over the calibration rows and mixes the maps by the weights that predict
// held-out rows best. [Pool] weighs whole calibrators, of this package and others, by what they say of rows whose
// labels they have not seen:
//
//	pool := anchored.Pool{Members: []anchored.Member{{Name: "corrected", Of: joint}, {Name: "forest", Of: &baselines.Forest{}}}}
//	err := pool.Fit(ctx, cal, nil, rng)
//
// experiments/results/benchmark.md compares them with the paper's method and the baselines.
//
// # A map of one's own
//
// Write a [Scored] map in one file, give it a Spread if its prior is to be learned, and
// add a row to the table of gradient_test.go. A map that needs more than log p̂ and codes
// reads it by name, in.Input(b, "features"); [Anchor] lists the names.
//
// # Errors
//
// As in package layers: Fit and Predict return an error of one sentence if a set lacks features, logits or labels, or
// has another width than the model. Settings that the data do not allow are a *layers.SettingError.
package anchored

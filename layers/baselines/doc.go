// Package baselines has the methods with which the paper's calibrator is compared. Each is a layers.Calibrator in a
// file of its own:
//
//	sm := &baselines.Structured{}
//	err := sm.Fit(ctx, cal, nil, rng)
//	p, err := sm.Predict(test)
//
//	Isotonic          ir            one-vs-rest isotonic regression (Zadrozny and Elkan 2002)
//	Platt             ps            a sigmoid of each class's score (Platt 1999)
//	PlattVector       ps            one-vs-rest logistic regression on all probabilities, as in the paper's tables
//	Dirichlet         dc            softmax(W log p̂ + b), maximum likelihood (Kull et al. 2019)
//	DirichletODIR     dc-odir       the same with off-diagonal and intercept penalties
//	Structured        sm            structured matrix scaling (Berta et al. 2025)
//	Vector            vector        softmax(v ⊙ log p̂ + b) (after Guo et al. 2017)
//	Histogram         histogram     one-vs-rest histogram binning (Zadrozny and Elkan 2001)
//	Beta              beta          one-vs-rest beta calibration (Kull et al. 2017)
//	LocalTemperature  local-ts      softmax(logits / T(x)) (after Ding et al. 2021)
//	ProCal            pc            density ratio over confidence and proximity (Xiong et al. 2023)
//	LocalNets         ln            a head trained to agree with its neighbourhood (Barbera et al. 2025)
//	Kernel            kc            the same network's kernel, trained alone
//	KCal              kc-original   kernel calibration (Lin et al. 2023)
//	Forest            forest        extremely randomized trees pooled with temperature scaling (after Geurts et al. 2006)
//
// The methods nc and ts and the quantized variants are built from parts of package layers.
//
// # What the maps see
//
// ℓ is log p̂, the log-softmax of the logits ([data.LogProbs]), in float64. It is clamped only where the reference of a
// method clamps it. A class that is impossible in a row (ℓ = −∞) is left out there: sums take 0 for ℓ, functions of
// that class do not use the row, and no softmax includes the class.
//
// # How they are fitted
//
// The maps with a closed form or a direct algorithm (Isotonic, Histogram, ProCal)
// are computed directly. The others are Maps that [layers.Trained] fits, some with a penalty or with inputs of their
// own. Smooth maps are fitted over all rows at once, by L-BFGS in float64 or by Newton's method (DirichletODIR). The
// networks are fitted by Adam over minibatches in float32. The Result states the size of the gradient at the end, and
// whether the fit stopped early.
//
// # Shapes and errors
//
// Sets are those of package data: features N×M, logits N×C, labels N; predictions are log-probabilities N×C. Fit
// returns an error of one sentence if cal lacks what the method needs (logits and labels, and features for methods that
// use regions), has labels outside 0…C−1, or scores that are not finite. Predict returns one before Fit and for rows of
// another width. Restore returns one for weights whose names or shapes are not the method's. The error of a cancelled
// Fit wraps ctx.Err().
package baselines

// Package baselines holds the methods that the paper's calibrator is compared with,
// one file each, all behind layers.Calibrator.
//
//	Isotonic          ir            one-vs-rest isotonic regression (Zadrozny and Elkan 2002)
//	Platt             ps            one-vs-rest logistic regression on the probabilities (Platt 1999)
//	Dirichlet         dc            softmax(W log p̂ + b), maximum likelihood (Kull et al. 2019)
//	DirichletODIR     dc-odir       the same with off-diagonal and intercept penalties
//	Structured        sm            structured matrix scaling (Berta et al. 2025)
//	Vector            vector        softmax(v ⊙ log p̂ + b) (after Guo et al. 2017)
//	Histogram         histogram     one-vs-rest histogram binning (Zadrozny and Elkan 2001)
//	Beta              beta          one-vs-rest beta calibration (Kull et al. 2017)
//	LocalTemperature  local-ts      softmax(logits / T(x)) (after Ding et al. 2021)
//	DensityAware      dac           softmax(log p̂ / T(distance from the calibration rows)) (Tomani et al. 2023)
//	Laplace           laplace       logits shrunk by their variance under a posterior of the last layer (Daxberger et al. 2021)
//	ProCal            pc            density ratio over confidence and proximity (Xiong et al. 2023)
//	LocalNets         ln            a head trained to agree with its neighbourhood (Barbera et al. 2025)
//	Kernel            kc            the same network's kernel, trained alone
//	KCal              kc-original   kernel calibration (Lin et al. 2023)
//
// NC, TS and the quantized variants are made of package layers' own parts.
//
// # What the maps see
//
// ℓ is log p̂, the log-softmax of the logits ([data.LogProbs]), in float64, and nothing is clamped but what a reference
// clamps. A class that cannot be, −∞ there, counts for nothing: ℓ is 0 where it is summed, its rows are no rows of
// a function of that class, and no softmax sees it.
//
// # How they are fitted
//
// The maps with a closed form or a direct algorithm (Isotonic, Histogram, ProCal)
// are computed. The others are Maps in the frame of package layers ([layers.Trained]), some
// with a penalty or inputs of their own: the smooth ones are fitted over all rows at once by
// L-BFGS in float64, or Newton's method (DirichletODIR), to a gradient that Result states; the
// networks by Adam over minibatches
// in float32. A fit that stopped short reports it in its Result.
//
// # Shapes and errors
//
// Sets are those of package data: features N×M, logits N×C, labels N; predictions are
// log-probabilities N×C. Fit returns an error of one sentence where cal lacks what the
// method needs (logits and labels; features too for those that use regions), has
// labels outside 0…C−1 or scores that are not finite; Predict before Fit and for rows of
// another width; Restore for weights whose names or shapes are not the method's. A
// cancelled Fit wraps ctx.Err().
package baselines

// Package metrics measures the calibration of predicted class probabilities, globally and locally, and how certain the
// measurement is.
//
//	r, err := metrics.Evaluate(ctx, logProbs, labels, embedding, metrics.Settings{}, metrics.Uncertainty{}, rng)
//	fmt.Println(r.Values[metrics.TopECE], r.Noise[metrics.TopECE].Mean) // the error, and its noise floor
//
// It sees only numbers: an N×C matrix of log-probabilities, N labels, and for the
// local metrics an N×d embedding. Letters are those of package data; p_ic is the
// probability of class c in row i, y_i its label, e_ic = p_ic − 1[y_i = c] the residual.
//
// A row is one observation. A weight ([Settings.Rows]) multiplies the row's part of every sum. Only the ratios of
// weights matter, and a row of weight 0 is ignored. A soft label ([Settings.Soft]) gives each class c a share, which
// replaces 1[y_i = c] in every metric. Intervals resample rows. Noise floors draw one label for each row. Rules that
// depend on the number of rows use the effective number, (Σ w)²/Σ w².
//
// In logarithms, a probability below 1e-12 counts as 1e-12. There is no other floor. [Floored] says how much of the NLL
// comes from such rows.
//
// # Global metrics
//
// Accuracy, NLL and the Brier score need no bins. The others cut the unit interval
// into 15 bins of equal width (or at quantiles), bin k being [e_k, e_{k+1}):
//
//	ECE    Σ_b |B_b|/n · |acc(B_b) − conf(B_b)|                       of the top class, Naeini et al. 2015; key "ece_top"
//	class-wise ECE   Σ_c w_c Σ_b |B_bc|/n · |freq_c(B_bc) − conf_c(B_bc)|   Kull et al. 2019; key "ece", the paper's ECE
//	MCE    Σ_c w_c max_b |freq_c(B_bc) − conf_c(B_bc)|
//	ECCE   Σ_c w_c Σ_b |Σ_{i≤b} |B_ic|/n · (freq_c(B_ic) − conf_c(B_ic))|   Arrieta-Ibarra et al. 2022
//
// where B_bc are the rows whose p_ic lies in bin b, and w_c = 1/C or any weights of sum 1.
//
// # Local metrics
//
// A local metric replaces the mean of a bin by a kernel mean around each of its rows,
//
//	r_ic = Σ_{j∈B(i)} K_ij e_jc / Σ_{j∈B(i)} K_ij ,   K_ij = exp(−‖z_i − z_j‖²/(2γ²))
//
// (Luo et al. 2022; the multiclass form is the paper's appendix, Metrics). The
// effective sample size of the neighbourhood is ESS_i = (Σ_j K_ij)² / Σ_j K_ij² over j ≠ i.
//
// With γ = 10 in an embedding of total variance 50 two typical rows, at squared distance 100, have the kernel weight
// exp(−½) ≈ .61, so LCE is nearly a global error. Over 13 to 20 predictors of known truth
// (experiments/results/truth.md, 2,000 rows, two draws) its rank correlation with the true squared error is .96 for
// global errors, .62 for local errors and .67 for both. NLL has .95, .98 and .95, and so has recoverable NLL by one
// reference. That is expected, because the expectation of NLL is the true error plus a constant, and the true error
// includes the grouping loss. That page also ranks by the calibration error itself, the distance to E[y | p].
//
// # Two protocols
//
// The paper's text and the code behind its tables differ, and both are kept:
//
//	        bins B(i)              LCE                       MLCE                    ECCE_c
//	Tables  of p_ic, per class,    Σ_c w_c mean_i |r_ic|     Σ_c w_c max_i |r_ic|    mean over non-empty bins
//	        more than 20 rows
//	Formula of the top confidence  mean_i Σ_c w_c |r_ic|     max_i Σ_c |r_ic|        sum over all bins
//
// The other metrics are the same in both. The paper's code does not say what happens if Tables skips every bin of a
// class; here the class is left out of the average.
//
// # Uncertainty
//
// [Measure] gives the values alone. [Evaluate] adds 95 % intervals, and the noise floor. The interval of the accuracy
// is that of a share ([ShareInterval]), those of NLL and Brier score are Student's t without skewness (Hall 1992), and
// the others are by the bootstrap over rows. Few rows raise an error by its noise: its interval is of its mean over
// samples of as many rows, and [Report.Many] of its value in many rows. experiments/results/coverage.csv counts how
// often each holds the truth.
//
// The noise floor is the same metrics for labels that are drawn from the predictions, so that the predictions are
// perfectly calibrated. An average of absolute values is never 0, so compare a value with its floor: look at the excess
// over the floor and at the p-value. [MeasureWith] leaves out the [Decomposition]. A [Stratum] has its own value and
// floor. [Compare] (for LCE [CompareReplicates]) and [Holm] test methods on the same rows. [Spread] and [Marks] print
// runs in the paper's style.
//
// [Recovered] is what corrections would save; package diagnosis fits them.
//
// # Kernel sums
//
// The kernel between two rows is the same for every class, replicate and redraw, so each pass computes it only once. A
// pass takes 64 rows at a time and compares them with all other rows in blocks, so memory grows with N·C and not with
// N². The order of all sums does not depend on the number of threads, so the same seed gives the same bytes.
package metrics

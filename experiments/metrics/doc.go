// Package metrics measures how far predicted class probabilities can be trusted,
// globally and locally, and how far the measurement itself can be.
//
// It sees numbers only: an N×C matrix of log-probabilities, N labels, and for the
// local metrics an N×d embedding. Letters are those of package data; p_ic is the
// probability of class c in row i, y_i its label, e_ic = p_ic − 1[y_i = c] the residual.
//
// A row is one observation. A weight ([Settings.Rows]) multiplies what it adds to any sum; only the ratios of weights
// matter, and a row of weight 0 is not there. A soft label ([Settings.Soft]) is C weights of one row: its share of
// class c takes the place of 1[y_i = c] in every metric. Intervals resample rows, noise floors redraw one label for each, and
// what needs a number of rows takes the effective one, (Σ w)²/Σ w².
//
// A probability below 1e-12 costs as much as 1e-12 where its logarithm counts. That is the one floor; [Floored] says
// how much of the NLL it decides.
//
// # Global metrics
//
// Accuracy, NLL and the Brier score need no bins. The others cut the unit interval
// into 15 bins of equal width (or at quantiles), bin k being [e_k, e_{k+1}):
//
//	ECE    Σ_c w_c Σ_b |B_bc|/n · |freq_c(B_bc) − conf_c(B_bc)|       class-wise, Kull et al. 2019
//	ECE    Σ_b |B_b|/n · |acc(B_b) − conf(B_b)|                       of the top class, Naeini et al. 2015
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
// With γ = 10 in an embedding of total variance 50 two typical rows, at squared distance
// 100, weigh exp(−½) ≈ .61: LCE is nearly a global error. Over 13 to 20 predictors of known
// truth (calibra study truth, 2,000 rows, two draws) its rank correlation with the true
// squared error is .96 where the error is global, .62 where it is local and .67 where it
// is both. That of NLL is .95, .98 and .95; so is that of recoverable NLL by one
// reference. So it must be: their expectation is the true error and a constant, and that error holds
// grouping loss too. Calibration error proper, the distance to E[y | p], study truth ranks by as well.
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
// The other metrics are the same in both. Where the paper's code is silent: a class
// of which Tables skips every bin leaves the average.
//
// # Uncertainty
//
// [Measure] gives the values alone. [Evaluate] adds a 95 % bootstrap interval over
// the rows, and the noise floor: the same metrics when labels are redrawn from the
// predictions, which are then perfectly calibrated. An error that averages absolute
// values is never 0, so a value means little without its floor; the excess over it
// and the p-value do. [MeasureWith] leaves out the checks. A
// [Stratum] has a value and a floor of its own. [Checks] are estimates of the error without
// that bias. [Compare], for LCE [CompareReplicates], and [Holm] distinguish methods on the
// same rows; [Spread] and [Marks] print runs in the
// paper's style.
//
// [Recovered] is what corrections would save, which package diagnosis fits; to compare predictors, hold all against one
// correction ([Recoverable]).
//
// # Kernel sums
//
// The kernel between two rows is the same for every class, replicate and redraw, so
// each pass computes it once, in stripes of 64 rows that meet all others block by
// block: memory grows with N·C, never N². All sums have an order of their own
// whatever the number of threads, so the same seed gives the same bytes.
package metrics

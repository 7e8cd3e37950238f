// Package theory checks the paper's statistical claims on synthetic problems. The problems are so small that every
// population quantity is an exact sum.
//
// # The estimator
//
// A calibrator's parameters θ̂ minimize L_N(θ) = −Σ W_N log q(y | cell, p̂; θ), where W_N are the shares of N rows with
// each (cell, atom, label). θ* minimizes the same loss under the weights of the population. Some changes of θ change no
// prediction (the [Gauge]); for the paper's factors these are (a_k, b_k) → (t a_k, b_k/t). Only the other directions of
// θ can converge:
//
//	√N (θ̂ − θ*) → N(0, H⁺ J H⁺) off the gauge,   H = ∇²L(θ*),  J = E[∇ℓ ∇ℓᵀ]
//
// H⁺ J H⁺ is the sandwich covariance of White (1982), which is also valid for a misspecified calibrator. Theorem 1
// states the rate N^(−1/2). Theorem 2 states the rate of the codeword's block M_k = a_k b_kᵀ (a [Target]) in N_k, the
// number of slots that are assigned to the codeword.
//
// # Studies
//
// A [Study] puts a claim to the test; its [Report] has rows that state the [Band] in which each number must lie. Not
// only the slopes of errors are compared with the sandwich, but also their constants. The paper's claims are package
// studies. A [Question] asks any layers.Map.
//
// # Why a finite support
//
// A [Table] has every cell, and a few values of log p̂ in each. So H and J of a population are exact sums, and a sample
// of N rows is one multinomial draw, which costs the same for N = 10⁹ as for N = 10³.
//
// # How it is computed
//
// Loss and gradient come from the layer's own Gorgonia graph in float64. Hessians are differences of that gradient. The
// same loss, derived by hand (bilinear.go), serves as a check, guides each descent and gives its Newton matrix. A
// descent ends when the graph's own gradient is below 1e-11.
//
// The constants of codewords differ more than their frequencies, so a single design can give almost any slope in N_k.
// Cyclic shifts of the frequencies over the codewords separate the two, after the effect of each codeword is removed.
//
// # Where to read
//
// design.go and truth.go make problems, channel.go misreads their codes, question.go puts them to an estimator.
// model.go, layered.go and bilinear.go are losses, newton.go and gauge.go fits, sandwich.go and experiment.go limits
// and replicates, rate_statistics.go and report.go the evidence.
//
// # How to use it
//
// Call [NewStudy] with a [Question]; its example has twenty lines. A question has a [Population] (how codes, p̂ and
// labels are drawn), an [Estimator] (any Map, with its own loss if it has one), a [Sampler] if rows are not each drawn
// alone, a [Channel] if codes are misread, and [Statistic]s with their bands; studies/noise.go is one to copy. The
// directions that the Map leaves free are found, sample sizes are chosen that are large enough for first-order theory
// in the others, and the rows of study rate are reported for the limit of the estimator. A study may have a [Part] that
// runs as you write it: it adds rows by [Report.Near] and its like, and uses [NewModel] (the loss), [Fit] (θ̂ or θ*),
// [Free] (the directions that are not identified), [NewLimit] (H, J and the sandwich) and [Settings.Draws] (samples of
// growing size). cli.Study makes a study a part that the command knows by its name; calibra new DIR --study
// writes one.
//
// # Bands
//
// A judged row states its level: the probability that it falls outside its band although the claim holds. The level is
// 1e-4 for random rows and 0 for the others, so that fewer than 1.5 % of runs have any row outside. A band is the value
// that the theory gives, with an allowance for the terms that it leaves open (second order), plus or minus the standard
// error of the estimate times Student's quantile. It is wider with fewer replicates. Fits that reach no minimum near θ*
// ([UnsettledError]) are counted, and a row judges their number.
package theory

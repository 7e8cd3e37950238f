// Package theory checks the paper's statistical claims on synthetic problems small
// enough that every population quantity is an exact sum.
//
// # The estimator
//
// A calibrator's parameters θ̂ minimize L_N(θ) = −Σ W_N log q(y | cell, p̂; θ), where W_N
// are the shares of N rows that fell on each (cell, atom, label); θ* minimizes the
// same loss under the population's weights. Where some change of θ moves no
// prediction (the [Gauge]: of the paper's factors, (a_k, b_k) → (t a_k, b_k/t)), only
// what is left can converge:
//
//	√N (θ̂ − θ*) → N(0, H⁺ J H⁺) off the gauge,   H = ∇²L(θ*),  J = E[∇ℓ ∇ℓᵀ]
//
// the sandwich of White (1982), which holds for a misspecified calibrator too. Theorem
// 1 is its rate N^(−1/2); Theorem 2 is that of the codeword's block M_k = a_k b_kᵀ (a
// [Target]) in N_k, the number of slots that were assigned to it.
//
// # Studies
//
// [Studies] lists what is checked, claim by claim; a [Study] gives a [Report] whose rows
// carry the [Band] they must lie in. Errors are compared with the sandwich in their
// constants, not in their slopes alone. [Rate] tests the same for any layers.Map.
//
// # Why a finite support
//
// A [Table] holds every cell and in each a few values of log p̂, so that a population's
// H and J are sums without error and a sample of any N is one multinomial draw: N =
// 10⁹ costs what N = 10³ does.
//
// # How it is computed
//
// The loss and its gradient are those of the layer's own Gorgonia graph in float64;
// Hessians are differences of that gradient. The same loss worked out by hand
// (bilinear.go) stands beside it as a check, leads each descent and gives its Newton
// matrix; a descent ends when the graph's own gradient is below 1e-11. The constants of
// codewords differ by more than their frequencies do, so that one design gives almost
// any slope in N_k; cyclic shifts of the frequencies over the codewords, with codeword
// effects removed, separate the two.
//
// # Where to read
//
// Files study_*.go hold a claim each, with the rows that judge it; all others are the engine below them
// and use nothing of a study (a test holds that): design.go and truth.go make problems, channel.go misreads
// their codes, question.go puts them to an estimator, model.go, layered.go and bilinear.go their losses, newton.go and gauge.go fits, sandwich.go and experiment.go
// populations and replicates, rate_statistics.go and report.go the evidence. study.go lists the studies.
//
// # How to use it
//
// The command runs all studies or some, under one seed or many:
//
//	calibra theory fast                        the small designs, under a minute
//	calibra theory all --out DIR               the designs of the specification
//	calibra theory fast --seeds 0-99 --out DIR how often each row is out of its band
//	calibra theory rate --slots 8 --codewords 20 --zipf 1.2 --map vq
//
// In Go, [Find] a study and Run it, or run [Rate] on a Map and a [Design] of one's own; its
// example is twenty lines. Rate finds what the Map leaves free, and chooses sample sizes at
// which the rest is certain enough for first-order theory.
//
// A study of one's own is [NewStudy] of a [Question]: a [Population] (how codes, p̂ and labels are drawn), a
// [Channel] that codes are misread by, an [Estimator] (any Map, with its own loss where it has one) and
// [Statistic]s with their bands. It has the rows of study rate about the limit of that estimator, and
// experiments.Study makes it a part that the command takes by its name, as calibra new DIR --study writes one. [NewModel], [Fit], [Free] and
// [NewLimit] are what it is made of: the loss, θ̂ or θ*, what is not identified, and H, J and the sandwich.
//
// # Bands
//
// A judged row states its level: the probability that it falls outside its band where the
// claim holds, 1e-4 for rows with chance in them and 0 for the others, so that under 1 % of
// runs have any row out. A band is what the theory gives, plus what it leaves open (terms of
// second order), plus the estimate's standard error times Student's quantile; with few
// replicates it widens. A fit that reaches no minimum near θ* ([UnsettledError]) is counted,
// and a row judges how many there are. testdata/seeds.md has the rows under many seeds; a
// test breaks each judged row on purpose. Replicates are as many as let rate, misspecified and
// intervals notice a covariance that is a tenth wrong with probability .9 (their rows power);
// testdata/mutations.md has which rows notice which fault.
//
// FINDINGS.md, generated from testdata/results.csv by [Findings], lists what holds, what does
// not hold as the paper prints it, and what it means for those who fit. After a change of a
// study:
//
//	calibra theory fast --out DIR && cp DIR/results.csv theory/testdata/ && cp DIR/noise-limit.svg theory/
//	go test ./theory -run Findings -update
package theory

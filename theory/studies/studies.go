package studies

import "calibra/theory"

// Find returns the named studies in the order of All, or an error that lists
// the names there are.
func Find(names ...string) ([]theory.Study, error) { return theory.Among(All(), names...) }

// All lists every study in the order of the specification.
func All() []theory.Study {
	return []theory.Study{
		{Name: "gauge", Seconds: 3.6, Claim: "what of the factors can be identified: everything but one rescaling per codeword",
			Parts: []theory.Part{nullityRows, learnedNullity, togetherNullity, freeRanks, balanced, ridged}},
		{Name: "propositions", Seconds: 0.2, Claim: "Propositions 1 and 2, by brute force and against an independent density",
			Parts: []theory.Part{quantization, posteriorGap, calibration, degenerate, distinctMaps}},
		{Name: "rate", Seconds: 3.8, Claim: "Theorems 1 and 2: errors fall as N^(−1/2) with the sandwich's constants (well specified)",
			Parts: []theory.Part{runRate}},
		{Name: "misspecified", Seconds: 4.6, Claim: "the pseudo-true parameter: the sandwich holds where the calibrator cannot represent the law",
			Parts: []theory.Part{runMisspecified}},
		{Name: "optimization-error", Seconds: 2.5, Claim: "O_p(ε_N): what an imposed gradient residual does to frequent and rare codewords",
			Parts: []theory.Part{runOptimizationError}},
		{Name: "unshared", Seconds: 0.95, Claim: "one free map per cell learns from the cell's own rows only; shared factors from all",
			Parts: []theory.Part{runUnshared}},
		{Name: "gate", Seconds: 1, Claim: "how much of a cell's own map to take: the bias of a shared one against the variance C²/n_V",
			Parts: []theory.Part{runGate}},
		{Name: "co-occurrence", Seconds: 0.5, Claim: "A6: two codewords seen only together cannot be told apart, whatever their counts",
			Parts: []theory.Part{runCooccurrence}},
		{Name: "triangular", Seconds: 1.1, Claim: "Theorem 2 where N_k is not Θ(N): the rate is the codeword's own count",
			Parts: []theory.Part{runTriangular}},
		{Name: "noise", Seconds: 7.6, Claim: "wrong codes: what the factors go to where the code of a slot is wrong with probability ε, and at what rate",
			Parts: []theory.Part{theory.Ask(noise)}},
		{Name: "ensemble", Seconds: 1.8, Claim: "the mean of several fits: what of the excess risk falls with 1/S, and what does not",
			Parts: []theory.Part{runEnsemble}},
		{Name: "assumptions", Seconds: 2.1, Claim: "A1 to A9 at θ* and in a neighbourhood of it",
			Parts: []theory.Part{runAssumptions}},
		{Name: "initialisation", Seconds: 0.55, Claim: "which starts reach the best optimum of the population",
			Parts: []theory.Part{runInitialisation}},
		{Name: "intervals", Seconds: 7.9, Claim: "from theory to practice: how often a fitted calibrator's intervals hold the truth",
			Parts: []theory.Part{runIntervals}},
		{Name: "recipe", Seconds: 14.5, Claim: "Theorem 1 after the paper's own training: what its steps, decay and early stopping leave of the error",
			Parts: []theory.Part{runRecipe}},
		{Name: "growth", Seconds: 2.6, Claim: "what the paper leaves open: a codebook that grows as N^a, and codewords whose labels are almost all of one class",
			Parts: []theory.Part{runGrowth}},
		{Name: "two-stage", Seconds: 7.2, Claim: "the same when the head, and the codebook, are fitted to the same rows",
			Parts: []theory.Part{runTwoStage}},
	}
}

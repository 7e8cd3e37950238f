package theory

// Find returns the named studies in the order of Studies, or an error that lists
// the names there are.
func Find(names ...string) ([]Study, error) { return Among(Studies(), names...) }

// Studies lists every study in the order of the specification.
func Studies() []Study {
	return []Study{
		{"gauge", "what of the factors can be identified: everything but one rescaling per codeword", []part{nullityRows, learnedNullity, togetherNullity, freeRanks, balanced, ridged}},
		{"propositions", "Propositions 1 and 2, by brute force and against an independent density", []part{quantization, posteriorGap, calibration, degenerate, distinctMaps}},
		{"rate", "Theorems 1 and 2: errors fall as N^(−1/2) with the sandwich's constants (well specified)", []part{runRate}},
		{"misspecified", "the pseudo-true parameter: the sandwich holds where the calibrator cannot represent the law", []part{runMisspecified}},
		{"optimization-error", "O_p(ε_N): what an imposed gradient residual does to frequent and rare codewords", []part{runOptimizationError}},
		{"unshared", "one free map per cell learns from the cell's own rows only; shared factors from all", []part{runUnshared}},
		{"co-occurrence", "A6: two codewords seen only together cannot be told apart, whatever their counts", []part{runCooccurrence}},
		{"triangular", "Theorem 2 where N_k is not Θ(N): the rate is the codeword's own count", []part{runTriangular}},
		{"noise", "wrong codes: what the factors go to where the code of a slot is wrong with probability ε, and at what rate", []part{ask(noise)}},
		{"ensemble", "the mean of several fits: what of the excess risk falls with 1/S, and what does not", []part{runEnsemble}},
		{"assumptions", "A1 to A9 at θ* and in a neighbourhood of it", []part{runAssumptions}},
		{"initialisation", "which starts reach the best optimum of the population", []part{runInitialisation}},
		{"intervals", "from theory to practice: how often a fitted calibrator's intervals hold the truth", []part{runIntervals}},
		{"recipe", "Theorem 1 after the paper's own training: what its steps, decay and early stopping leave of the error", []part{runRecipe}},
		{"growth", "what the paper leaves open: a codebook that grows as N^a, and codewords whose labels are almost all of one class", []part{runGrowth}},
		{"two-stage", "the same when the head, and the codebook, are fitted to the same rows", []part{runTwoStage}},
	}
}

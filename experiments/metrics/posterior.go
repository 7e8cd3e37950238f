package metrics

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// Truth is the error of predictions against the true posterior q, which no labels
// and no kernel blur.
type Truth struct {
	// LCE is the true local calibration error, mean_i 1/C Σ_c |p_ic − q_ic|: what LCE
	// would be with every row a neighbourhood of its own and endless labels for it.
	LCE float64 `json:"lce"`
	// KL is mean_i Σ_c q_ic log(q_ic / p_ic), in nats: the part of the negative
	// log-likelihood that a better calibrator could save. It floors log p_ic at
	// [LeastLogProb], so that a 0 is an error of finite size.
	KL float64 `json:"kl"`
}

// NewTruth measures log-probabilities against the true posterior, both N×C. It
// panics if their shapes differ.
func NewTruth(logProbs, posterior *mat.Dense) *Truth {
	n, classes := posterior.Dims()
	if rows, columns := logProbs.Dims(); rows != n || columns != classes {
		panic("metrics: predictions and posterior differ in shape")
	}
	var t Truth
	for i := range n {
		for c, q := range posterior.RawRowView(i) {
			l := logProbs.At(i, c)
			t.LCE += math.Abs(math.Exp(l) - q)
			if q > 0 {
				t.KL += q * (math.Log(q) - max(l, LeastLogProb))
			}
		}
	}
	t.LCE /= float64(n * classes)
	t.KL /= float64(n)
	return &t
}

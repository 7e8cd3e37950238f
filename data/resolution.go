package data

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// singleResolution is [Set.Resolution] of scores in single precision. A score is off by up to 2⁻²⁴ of itself, and
// log-probabilities of C classes move a normalized probability by up to log C times that: 2⁻²¹ is enough for C = e⁸.
const singleResolution = 0x1p-21

// mostRounding is how far from 1 rows of the logarithms of rounded probabilities sum. Those of other logits have other
// sums, which say nothing.
const mostRounding = 1. / 64

// resolutionOf is [Set.Resolution] of scores m as a file has them: the most that a sum of probabilities differs from 1,
// and that of single precision where it holds every score.
func resolutionOf(of Scores, m *mat.Dense) float64 {
	single, far := true, 0.0
	n, _ := m.Dims()
	for i := range n {
		row := m.RawRowView(i)
		for _, v := range row {
			single = single && float64(float32(v)) == v
		}
		if of == Probabilities {
			sum := 0.0
			for _, p := range row {
				sum += max(p, LeastProbability)
			}
			far = max(far, math.Abs(sum-1))
		} else {
			far = max(far, math.Abs(floats.LogSumExp(row)))
		}
	}
	if of != Probabilities && !(far <= mostRounding) {
		far = 0
	}
	if single {
		return max(far, singleResolution)
	}
	return far
}

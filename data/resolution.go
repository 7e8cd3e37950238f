package data

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// mostRounding is how far from 1 rows of the logarithms of rounded probabilities sum. Those of other logits have other
// sums, which say nothing, and their probabilities are apart as the logits are.
const mostRounding = 1. / 64

// resolutionOf is [Set.Resolution] of scores m as a file has them. Equal probabilities of two rows, divided by the sums
// of their rows, are apart by what these differ.
func resolutionOf(of Scores, m *mat.Dense) (far float64) {
	n, _ := m.Dims()
	for i := range n {
		row := m.RawRowView(i)
		if of != Probabilities {
			far = max(far, math.Abs(floats.LogSumExp(row)))
			continue
		}
		sum := 0.0
		for _, p := range row {
			sum += max(p, LeastProbability)
		}
		far = max(far, math.Abs(sum-1))
	}
	if of != Probabilities && !(far <= mostRounding) {
		return 0
	}
	return far
}

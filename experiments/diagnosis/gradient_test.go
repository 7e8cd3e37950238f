package diagnosis

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"calibra/experiments/internal/checked"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// BenchmarkGradient is a step of the correction of 12,000 predictions.
func BenchmarkGradient(b *testing.B) {
	for _, classes := range []int{3, 10, 100} {
		rng := rand.New(rand.NewPCG(1, 2))
		logProbs, labels := mat.NewDense(12000, classes, nil), make([]int, 12000)
		for i := range labels {
			row := logProbs.RawRowView(i)
			for k := range row {
				row[k] = 2 * rng.NormFloat64()
			}
			floats.AddConst(-floats.LogSumExp(row), row)
			labels[i] = rng.IntN(classes)
		}
		s, err := checked.NewSample(logProbs, labels, nil, nil)
		if err != nil {
			b.Fatal(err)
		}
		rows := checked.FirstToLast(s.N)
		d := newLearner(newBasis(ofPrediction, logProbs, nil, rng).design(logProbs, nil, &targets{s, rows, rows}))
		theta := make([]float64, d.width*(classes+1))
		grad := make([]float64, len(theta))
		b.Run(fmt.Sprint(classes), func(b *testing.B) {
			for b.Loop() {
				d.gradient(theta, grad)
			}
		})
	}
}

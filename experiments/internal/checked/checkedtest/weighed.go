// Package checkedtest has predictions that tests of several packages judge.
package checkedtest

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
)

// Weighed are 300 rows with features and soft labels; every third row has weight 0.
func Weighed() (logProbs *mat.Dense, labels []int, z *mat.Dense, weights []float64, soft *mat.Dense) {
	rng := rand.New(rand.NewPCG(31, 0))
	const n, c = 300, 3
	logProbs, z, soft = mat.NewDense(n, c, nil), mat.NewDense(n, 2, nil), mat.NewDense(n, c, nil)
	for i := range n {
		row, sum := logProbs.RawRowView(i), 0.0
		for k := range row {
			row[k] = 2 * rng.NormFloat64()
			sum += math.Exp(row[k])
		}
		for k := range row {
			row[k] -= math.Log(sum)
		}
		y := rng.IntN(c)
		labels = append(labels, y)
		z.SetRow(i, []float64{rng.NormFloat64(), rng.NormFloat64()})
		weights = append(weights, float64(i%3))
		share := .5 + .5*rng.Float64()
		soft.Set(i, y, share)
		soft.Set(i, (y+1)%c, 1-share)
	}
	return logProbs, labels, z, weights, soft
}

package rowcheck_test

import (
	"math/rand/v2"
	"testing"

	"calibra/data"
	"calibra/experiments/rowcheck"

	"gonum.org/v1/gonum/mat"
)

// TestClassesDiffer: rows of other shares are told from rows of the same, by their weights, and of rows without logits
// nothing is said.
func TestClassesDiffer(t *testing.T) {
	draw := func(last, weight float64, rng *rand.Rand) *data.Set {
		x := &data.Set{Logits: mat.NewDense(400, 3, nil), Labels: make([]int, 400), Weights: make([]float64, 400)}
		for i := range x.Labels {
			if x.Weights[i] = weight; rng.Float64() < last {
				x.Labels[i] = 2
			} else {
				x.Labels[i] = rng.IntN(2)
			}
		}
		return x
	}
	alarms, found := 0, 0
	for k := range 200 {
		rng := rand.New(rand.NewPCG(81, uint64(k)))
		if rowcheck.ClassesDiffer(draw(.02, 1, rng), draw(.02, 3, rng)) {
			alarms++
		}
		if rowcheck.ClassesDiffer(draw(.2, 1, rng), draw(.4, 1, rng)) {
			found++
		}
	}
	if alarms > 7 || found < 195 { // of 1 % expected 2, and 8 in one of 1,000 such counts
		t.Errorf("%d of 200 draws of the same shares and %d of others are said to differ", alarms, found)
	}
	rng := rand.New(rand.NewPCG(82, 0))
	cal, test := draw(.1, 1, rng), draw(.9, 1, rng)
	if cal.Logits = nil; rowcheck.ClassesDiffer(cal, test) {
		t.Error("rows without logits are said to differ")
	}
}

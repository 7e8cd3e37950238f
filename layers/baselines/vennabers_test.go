package baselines

import (
	"slices"
	"testing"
)

// TestVennAbersAgainstTwoRegressions repeats the definition: an isotonic regression of the
// calibration rows and the new one, once with each label, at scores between and on those
// of the rows, ties among them.
func TestVennAbersAgainstTwoRegressions(t *testing.T) {
	rng := newRand(5)
	for range 200 {
		n := 1 + rng.IntN(30)
		score, hit := make([]float64, n), make([]float64, n)
		for i := range score {
			score[i] = float64(rng.IntN(12)) / 12
			if rng.Float64() < score[i] {
				hit[i] = 1
			}
		}
		lower, upper := vennAbers(score, hit)
		for v := -0.5; v < 13; v += 0.5 {
			for y, got := range []float64{lower.before(v / 12), upper.after(v / 12)} {
				with := isotonic(append(slices.Clone(score), v/12), append(slices.Clone(hit), float64(y)))
				// A mean of at most 31 rows by two orders of summing.
				if want := with.at(v / 12); !(max(got-want, want-got) < 1e-12) {
					t.Fatalf("p%d(%g) is %v, the regression with that row says %v (rows %v, %v)", y, v/12, got, want, score, hit)
				}
			}
		}
	}
}

package baselines

import (
	"math"
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
		lower, upper := vennAbers(ties{}.values(score), hit, nil, ties{})
		for v := -0.5; v < 13; v += 0.5 {
			for y, got := range []float64{lower.before(v / 12), upper.after(v / 12)} {
				with := isotonic(ties{}.values(append(slices.Clone(score), v/12)), append(slices.Clone(hit), float64(y)), nil, ties{})
				// A mean of at most 31 rows by two orders of summing.
				if want := with.at(v / 12); !(max(got-want, want-got) < 1e-12) {
					t.Fatalf("p%d(%g) is %v, the regression with that row says %v (rows %v, %v)", y, v/12, got, want, score, hit)
				}
			}
		}
	}
}

// TestVennAbersOfACalibrationRow: a score that another machine rounds otherwise is still that of
// the calibration row, in the fit and after it.
func TestVennAbersOfACalibrationRow(t *testing.T) {
	rng := newRand(6)
	score, hit := make([]float64, 40), make([]float64, 40)
	for i := range score {
		score[i] = math.Exp(-20 * rng.Float64())
		if i%2 == 1 {
			score[i] = score[i-1] * (1 + 1e-14)
		}
		hit[i] = float64(rng.IntN(2))
	}
	lower, upper := vennAbers(ties{}.values(score), hit, nil, ties{})
	if len(lower.x) != 20 {
		t.Errorf("%d pairs of rows have %d scores", 20, len(lower.x))
	}
	for i, of := range (ties{}).values(score) {
		v := of.lo
		for _, rounded := range []float64{v * (1 - 1e-14), v, v * (1 + 1e-14)} {
			if p0, p1 := lower.before(rounded), upper.after(rounded); p0 != lower.y[i] || p1 != upper.y[i] {
				t.Errorf("p0 and p1 are %v and %v at the score %v, whose are %v and %v", p0, p1, v, lower.y[i], upper.y[i])
			}
		}
	}
}

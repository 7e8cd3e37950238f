package metrics

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"calibra/experiments/internal/checked"

	"gonum.org/v1/gonum/mat"
)

func TestProfileByHand(t *testing.T) {
	nan := math.NaN()
	l := &Local{Residual: mat.NewDense(5, 2, []float64{
		.1, -.2,
		-.3, nan,
		.5, .4,
		.7, -.6,
		-.9, .8,
	})}
	// class 0: rows 4 2 0 | 1 3 by distance, the median 3 with the lower ones;
	// class 1: rows 4 2 | 0 3, the median 2.5 between
	l.ESS = mat.NewDense(5, 2, []float64{3, 3, 4, 4, 2, 2, 5, 5, 1, 1})
	got := l.ESSProfile(2)
	if want := []int{5, 4}; !slices.Equal(got.Count, want) {
		t.Fatalf("counts %v, want %v", got.Count, want)
	}
	for b, want := range [][2]float64{{(.9 + .5 + .1 + .8 + .4) / 5, (1 + 2 + 3 + 1 + 2) / 5.}, {(.3 + .7 + .2 + .6) / 4, (4 + 5 + 3 + 5) / 4.}} {
		if !near(got.LCE[b], want[0], 1e-12) || !near(got.At[b], want[1], 1e-12) {
			t.Errorf("bin %d: error %v at %v, want %v", b, got.LCE[b], got.At[b], want)
		}
	}
}

// Quantile bins hold as many rows each, to one.
func TestProfileBinsAreEven(t *testing.T) {
	x := make([]float64, 1000)
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range x {
		x[i] = rng.ExpFloat64()
	}
	count := make([]int, 15)
	for _, b := range checked.QuantileBins(x, 15) {
		count[b]++
	}
	if slices.Max(count)-slices.Min(count) > 1 {
		t.Errorf("bins hold %v", count)
	}
}

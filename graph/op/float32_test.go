package op

import (
	"math"
	"math/rand/v2"
	"testing"

	"gorgonia.org/tensor"
)

// Package simd is held to the readable forms in float64. Sums of C terms of
// size 10 in float32 keep some 1e-6 of their size.
func TestDirichletBatchesEqualTheReadableForm(t *testing.T) {
	for _, c := range []int{2, 3, 10, 45, 90, 100} {
		rng := rand.New(rand.NewPCG(1, uint64(c)))
		const rows = 9
		a, logp, g := randoms(rng, rows*c*c, 3), randoms(rng, rows*c, 1), randoms(rng, rows*c, 1)
		for i := range logp {
			logp[i] = -math.Abs(logp[i]) * 4
		}
		want := make([]float64, rows*c)
		dirichletScores(want, a, logp, c, 1)
		got := make([]float32, rows*c)
		runBatch(dirichletBatch{of: scoresOnly, score: got, a: single(a), logp: single(logp), c: c, delta: 1})
		closeTo(t, "score", got, want)

		gradients := make([]float64, rows*c*c)
		dirichletGradients(gradients, a, logp, g, c)
		da := make([]float32, rows*c*c)
		runBatch(dirichletBatch{of: gradientsOnly, da: da, a: single(a), logp: single(logp), g: single(g), c: c})
		closeTo(t, "gradient", da, gradients)

		clear(got)
		clear(da)
		runBatch(dirichletBatch{of: scoresAndGradients, score: got, da: da, a: single(a), logp: single(logp), c: c, delta: 1})
		runBatch(dirichletBatch{of: timesG, da: da, logp: single(logp), g: single(g), c: c})
		closeTo(t, "score taken with the gradients", got, want)
		closeTo(t, "gradient taken with the score", da, gradients)
	}
}

func TestNearestEqualsTheReadableForm(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 3))
	for _, shape := range []struct{ n, k, d int }{{1, 1, 1}, {17, 5, 3}, {100, 64, 8}, {33, 65, 32}} {
		z, c := randoms(rng, shape.n*shape.d, 1), randoms(rng, shape.k*shape.d, 1)
		want := make([]int32, shape.n)
		assign(want, z, c, shape.d)
		out, err := Nearest().Do(
			tensor.New(tensor.WithShape(shape.n, shape.d), tensor.WithBacking(single(z))),
			tensor.New(tensor.WithShape(shape.k, shape.d), tensor.WithBacking(single(c))))
		if err != nil {
			t.Fatal(err)
		}
		got := out.(*tensor.Dense).Int32s()
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%v: slot %d is assigned to %d, not %d", shape, i, got[i], want[i])
			}
		}
	}
}

func closeTo(t *testing.T, what string, got []float32, want []float64) {
	t.Helper()
	var size float64
	for _, v := range want {
		size = math.Max(size, math.Abs(v))
	}
	for i, v := range want {
		if d := math.Abs(float64(got[i]) - v); !(d <= 2e-6*size) {
			t.Fatalf("%s[%d] of %d = %v, the readable form says %v", what, i, len(want), got[i], v)
		}
	}
}

func randoms(rng *rand.Rand, n int, sd float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = float64(float32(sd * rng.NormFloat64()))
	}
	return x
}

func single(x []float64) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	return y
}

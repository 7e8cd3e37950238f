package layers

import (
	"testing"

	"gonum.org/v1/gonum/mat"
)

// TestOnce: what is derived alike of shared features is made once, anything else each time.
func TestOnce(t *testing.T) {
	x := mat.NewDense(2, 3, []float64{1, 2, 3, 4, 5, 6})
	features := &shared{Matrix: x}
	count := 0
	sum := func(x mat.Matrix, what string, more ...[]float64) float64 {
		return once(x, what, func() float64 {
			count++
			return mat.Sum(x)
		}, more...)
	}
	for at, c := range []struct {
		x    mat.Matrix
		what string
		more []float64
		made int
		sum  float64
	}{
		{Less(features, []float64{1, 1, 1}), "sum", nil, 1, 15},
		{Less(features, []float64{1, 1, 1}), "sum", nil, 1, 15}, // another matrix of the same centre
		{Less(features, []float64{1, 1, 2}), "sum", nil, 2, 13},
		{Less(features, []float64{1, 1, 1}), "another", nil, 3, 15},
		{Less(features, []float64{1, 1, 1}), "sum", []float64{7}, 4, 15},
		{Less(x, []float64{1, 1, 1}), "sum", nil, 5, 15}, // of features that are not shared
		{Less(x, []float64{1, 1, 1}), "sum", nil, 6, 15},
		{features, "sum", nil, 7, 21},
	} {
		if got := sum(c.x, c.what, c.more); got != c.sum || count != c.made {
			t.Errorf("%d: %v, made %d times; want %v and %d", at, got, count, c.sum, c.made)
		}
	}
}

package metrics

import (
	"math"
	"testing"
)

func TestSignFlip(t *testing.T) {
	for _, c := range []struct {
		d    []float64
		want float64
	}{ // by hand: of 2ⁿ sums those as far from 0
		{[]float64{1, 2, 3}, 2. / 8},
		{[]float64{-1, 2, 3}, 4. / 8}, // ±4, ±6
		{[]float64{0, 0}, 1},
		{[]float64{.1, .2, -.3}, 1},
		{[]float64{-1, -1, -1, -1, -1, -1, -1, -1, -1}, 2. / 512},
	} {
		got, err := SignFlip(c.d)
		if err != nil || got != c.want {
			t.Errorf("%v: p = %v (%v), not %v", c.d, got, err, c.want)
		}
	}
	for _, d := range [][]float64{nil, make([]float64, 25), {1, math.NaN()}} {
		if p, err := SignFlip(d); err == nil {
			t.Errorf("of %v p is %v", d, p)
		}
	}
}

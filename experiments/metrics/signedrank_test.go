package metrics

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestSignedRank: values by hand, and every sign pattern counted by the definition.
func TestSignedRank(t *testing.T) {
	for _, c := range []struct {
		d    []float64
		want float64
	}{
		{nil, 1},
		{[]float64{0, 0}, 1},
		{[]float64{1, 2, 3, 4, 5}, 2. / 32}, // all of one sign
		{[]float64{-1, -2, -3, -4, -5, -6, -7, -8, -9, -10}, 2. / 1024},
		{[]float64{-1, 2, 3, 4, 5}, 4. / 32}, // sums 0, 1 of 15 and their mirrors
		{[]float64{1, -1}, 1},
		{[]float64{1, 1, 1}, 2. / 8}, // ties
	} {
		if got := SignedRank(c.d); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%v: p = %v, want %v", c.d, got, c.want)
		}
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for range 20 {
		d := make([]float64, 9)
		for i := range d {
			d[i] = math.Round(4*rng.NormFloat64()) + 0.5 // with ties
		}
		if got, want := SignedRank(d), counted(d); math.Abs(got-want) > 1e-12 {
			t.Errorf("%v: p = %v, counted %v", d, got, want)
		}
	}
	if got := SignedRank([]float64{1, math.NaN()}); !math.IsNaN(got) {
		t.Errorf("of NaN p = %v", got)
	}
}

// counted is the share of sign patterns of d, without zeros, as far from the middle.
func counted(d []float64) float64 {
	rank := make([]float64, len(d))
	for i, x := range d {
		for _, y := range d {
			switch {
			case math.Abs(y) < math.Abs(x):
				rank[i]++
			case math.Abs(y) == math.Abs(x):
				rank[i] += 0.5
			}
		}
		rank[i] += 0.5
	}
	far := func(up func(i int) bool) float64 {
		var sum float64
		for i, r := range rank {
			if up(i) {
				sum += r
			} else {
				sum -= r
			}
		}
		return math.Abs(sum)
	}
	observed, as := far(func(i int) bool { return d[i] > 0 }), 0.0
	for pattern := range 1 << len(d) {
		if far(func(i int) bool { return pattern>>i&1 == 1 }) >= observed-1e-9 {
			as++
		}
	}
	return as / float64(int(1)<<len(d))
}

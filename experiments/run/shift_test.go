package run

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// TestThinnest holds thinnest to the distances sorted one row at a time.
func TestThinnest(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	normals := func(n int) *mat.Dense {
		x := mat.NewDense(n, 3, nil)
		for i := range x.RawMatrix().Data {
			x.RawMatrix().Data[i] = rng.NormFloat64()
		}
		return x
	}
	for _, size := range [][2]int{{300, 40}, {7, 10}, {5, 3}} { // fewer calibration rows than neighbours too
		z, cal := normals(size[0]), normals(size[1])
		distance, want := make([]float64, size[0]), make([]int, size[0])
		for i := range want {
			var all []float64
			for j := range size[1] {
				all = append(all, floats.Distance(z.RawRowView(i), cal.RawRowView(j), 2))
			}
			slices.Sort(all)
			want[i], distance[i] = i, all[min(neighbourhood, size[1])-1]
		}
		slices.SortFunc(want, func(i, j int) int { return cmp.Compare(distance[j], distance[i]) })
		want = want[:(size[0]+1)/2]
		slices.Sort(want)
		if got := thinnest(z, cal); !slices.Equal(got, want) {
			t.Errorf("%v rows: %v, want %v", size, got, want)
		}
	}
}

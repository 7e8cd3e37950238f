package simd

import (
	"cmp"
	"math"
	"runtime"
	"slices"
	"testing"
)

// The codes are those of the least distances in float64, of equal ones the first, wherever the slots lie and whatever
// their scale.
func TestNearbyRows(t *testing.T) {
	for _, size := range [][4]int{{1, 1, 1, 1}, {100, 64, 8, 8}, {37, 5, 3, 5}, {70, 33, 7, 4}, {13, 300, 64, 2}} {
		n, k, d, m := size[0], size[1], size[2], size[3]
		for name, put := range map[string]func(i int, v float32) float32{
			"as they are":       func(_ int, v float32) float32 { return v },
			"off by 10⁴":        func(_ int, v float32) float32 { return 1e4 + v },
			"few values":        func(_ int, v float32) float32 { return float32(math.Round(float64(v))) },
			"all of scale 1e30": func(_ int, v float32) float32 { return 1e30 * v },
		} {
			words, x := normals(k*d, 1), normals(n*d, 2)
			for i, v := range words {
				words[i] = put(i, v)
			}
			for i, v := range x {
				x[i] = put(i, v)
			}
			x[0] = float32(math.NaN())
			var want []int32
			for i := range n {
				dist, order := make([]float64, k), make([]int32, k)
				for j := range order {
					order[j] = int32(j)
					for l := range d {
						e := float64(x[i*d+l]) - float64(words[j*d+l])
						dist[j] += e * e
					}
				}
				if i > 0 {
					slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(dist[a], dist[b]) })
				}
				want = append(want, order[:m]...)
			}
			eachInstructionSet(t, func(t *testing.T) {
				var c Codebook
				c.Set(words, k, d)
				got := make([]int32, n*m)
				if NearbyRows(got, x, m, &c); !slices.Equal(got, want) {
					t.Errorf("%v %s: other codes than those of the least distances", size, name)
				}
			})
		}
	}
}

func TestNearbyThreads(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	const n, k, d, m = 4096, 64, 8, 8
	words, x := normals(k*d, 1), normals(n*d, 2)
	var c Codebook
	c.Set(words, k, d)
	want, got := make([]int32, n*m), make([]int32, n*m)
	runtime.GOMAXPROCS(1)
	NearbyRows(want, x, m, &c)
	runtime.GOMAXPROCS(4)
	if NearbyRows(got, x, m, &c); !slices.Equal(got, want) {
		t.Error("other codes on four threads than on one")
	}
}

func BenchmarkNearby(b *testing.B) {
	const n, k, d, m = 1024, 64, 8, 8 // sixteen rows of 64 slots
	words, x := normals(k*d, 1), normals(n*d, 2)
	var c Codebook
	c.Set(words, k, d)
	codes := make([]int32, n*m)
	for b.Loop() {
		NearbyRows(codes, x, m, &c)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/row")
}

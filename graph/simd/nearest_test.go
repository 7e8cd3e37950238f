package simd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"calibra/graph/work/worktest"
)

// The code is that of the least distance in float64, wherever the slots lie, however far apart codewords are and
// whatever their scale: near the smallest and the largest float32, the products of which are 0 and infinite.
func TestNearestRows(t *testing.T) {
	for _, size := range [][3]int{{1, 1, 1}, {100, 64, 32}, {37, 5, 3}, {300, 33, 7}, {13, 300, 64}, {20, 1000, 10}, {25, 40, 600}} {
		n, k, d := size[0], size[1], size[2]
		for name, put := range map[string]func(i int, v float32) float32{
			"as they are":           func(_ int, v float32) float32 { return v },
			"off by 100":            func(_ int, v float32) float32 { return 100 + v },
			"off by 10⁴":            func(_ int, v float32) float32 { return 1e4 + v },
			"in two places":         func(i int, v float32) float32 { return float32(i/d%2) + 1e-5*v },
			"one of them far":       func(i int, v float32) float32 { return v + 1e6*float32(min(i/d, 1)-1) },
			"a slot of scale 1e-6":  func(i int, v float32) float32 { return v * float32([]float64{1, 1e-6}[i/d%2]) },
			"all of scale 1e-10":    func(_ int, v float32) float32 { return 1e-10 * v },
			"all of scale 1e-30":    func(_ int, v float32) float32 { return 1e-30 * v },
			"all of scale 1e30":     func(_ int, v float32) float32 { return 1e30 * v },
			"of scales 1e-30, 1e30": func(i int, v float32) float32 { return v * float32([]float64{1e-30, 1e30}[i/d%2]) },
		} {
			words, x := normals(k*d, 1), normals(n*d, 2)
			for i, v := range words {
				words[i] = put(i, v)
			}
			for i, v := range x {
				x[i] = put(i, v)
			}
			want := make([]int32, n)
			for i := range want {
				least := math.Inf(1)
				for j := range k {
					var apart float64
					for l := range d {
						apart += math.Pow(float64(x[i*d+l])-float64(words[j*d+l]), 2)
					}
					if apart < least {
						least, want[i] = apart, int32(j)
					}
				}
			}
			eachInstructionSet(t, func(t *testing.T) {
				var c Codebook
				c.Set(words, k, d)
				codes := make([]int32, n)
				NearestRows(codes, x, &c)
				for i, code := range codes {
					if code != want[i] {
						t.Fatalf("%v %s: row %d gets codeword %d, %d is nearest", size, name, i, code, want[i])
					}
				}
			})
		}
	}
}

// Among equal codewords the first wins, wherever in a vector or panel they lie; rows
// that are not numbers get a valid code.
func TestNearestRowsTies(t *testing.T) {
	const k, d = 70, 4
	words := normals(k*d, 3)
	pairs := [][2]int{{0, 1}, {2, 17}, {3, 35}, {40, 69}, {5, 6}}
	for _, p := range pairs {
		copy(words[p[1]*d:(p[1]+1)*d], words[p[0]*d:(p[0]+1)*d])
	}
	eachInstructionSet(t, func(t *testing.T) {
		var c Codebook
		c.Set(words, k, d)
		codes := make([]int32, 1)
		for _, p := range pairs {
			NearestRows(codes, words[p[1]*d:(p[1]+1)*d], &c)
			if codes[0] != int32(p[0]) {
				t.Errorf("codeword %d equals %d, got %d", p[1], p[0], codes[0])
			}
		}
		nan := float32(math.NaN())
		NearestRows(codes, []float32{nan, nan, nan, nan}, &c)
		if codes[0] != 0 {
			t.Errorf("a row of NaN gets %d", codes[0])
		}
	})
}

func TestNearestThreads(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	const n, k, d, width = 8192, 64, 32, 2048
	words, x := normals(k*d, 1), normals(n*d, 2)
	var c Codebook
	c.Set(words, k, d)
	want, got := make([]int32, n), make([]int32, n)
	runtime.GOMAXPROCS(1)
	NearestRows(want, x, &c)
	runtime.GOMAXPROCS(4)
	NearestRows(got, x, &c)
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("row %d: %d on one thread, %d on four", i, want[i], got[i])
		}
	}

	rows := []int32{127, 3, 3, 64, 0}
	gathered := make([]int32, len(rows)*width/d)
	NearestGathered(gathered, x, rows, width, &c)
	for b, r := range rows {
		for i := range width / d {
			if gathered[b*width/d+i] != want[int(r)*width/d+i] {
				t.Fatalf("slot %d of row %d: %d gathered, %d in place", i, r, gathered[b*width/d+i], want[int(r)*width/d+i])
			}
		}
	}
	if allocations := testing.AllocsPerRun(10, func() {
		c.Set(words, k, d)
		NearestRows(got, x, &c)
		NearestGathered(gathered, x, rows, width, &c)
	}); allocations >= 1 && !worktest.PoolsAllocate { // a pool may be emptied by the garbage collector in between
		t.Errorf("%g allocations", allocations)
	}
}

// TestNearestCentred holds codes of rows less a centre to those of the rows that Less makes, for slots that fill
// vectors and such that do not, and centres in their midst and far away.
func TestNearestCentred(t *testing.T) {
	for _, size := range [][3]int{{40, 64, 32}, {3, 4, 5}, {50, 3, 8}, {1, 70, 1}} {
		for _, far := range []float64{0, 100, 1e6} {
			const k = 13
			n, w, d := size[0], size[1], size[2]
			words, x, centre, z := normals(k*d, 1), normals(n*w*d, 2), make([]float64, w*d), make([]float32, n*w*d)
			for j := range centre {
				centre[j] = far + math.Sqrt(float64(j))/50
			}
			for i := range x {
				x[i] += float32(centre[i%len(centre)])
			}
			eachInstructionSet(t, func(t *testing.T) {
				var c Codebook
				c.Set(words, k, d)
				want, got := make([]int32, n*w), make([]int32, n*w)
				for i := range n {
					lessKernel(z[i*w*d:(i+1)*w*d], x[i*w*d:(i+1)*w*d], centre)
				}
				NearestRows(want, z, &c)
				if NearestCentred(got, x, centre, &c); !slices.Equal(got, want) {
					t.Errorf("%v, %g away: other codes than of the rows less their centre", size, far)
				}
			})
		}
	}
}

func BenchmarkNearest(b *testing.B) {
	const n, k, d, width = 2048, 64, 32, 2048 // 32 rows of 64 slots
	words, x, centre := normals(k*d, 1), normals(n*d, 2), make([]float64, width)
	var c Codebook
	codes, rows := make([]int32, n), make([]int32, n*d/width)
	far := slices.Repeat(x, 1024) // 256 MB
	rng := rand.New(rand.NewPCG(1, 2))
	best := isa
	defer func() { isa = best }()
	for _, isa = range instructionSets() {
		c.Set(words, k, d)
		for _, search := range []struct {
			name string
			run  func(i int)
		}{
			{"cache", func(int) { NearestRows(codes, x, &c) }},
			{"order", func(i int) { NearestRows(codes, far[i%1024*n*d:][:n*d], &c) }},
			{"random", func(int) {
				for j := range rows {
					rows[j] = rng.Int32N(int32(len(far) / width))
				}
				NearestGathered(codes, far, rows, width, &c)
			}},
			{"centred", func(i int) { NearestCentred(codes, far[i%1024*n*d:][:n*d], centre, &c) }},
			{"set", func(int) { c.Set(words, k, d) }},
		} {
			b.Run(search.name+"/"+InstructionSet(), func(b *testing.B) {
				for i := 0; b.Loop(); i++ {
					search.run(i)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/slot")
			})
		}
	}
}

func ExampleNearestRows() {
	var c Codebook
	c.Set([]float32{0, 0, 1, 1, 5, 5}, 3, 2) // three codewords of width 2
	codes := make([]int32, 2)
	NearestRows(codes, []float32{0.9, 1.2, 4, 4}, &c)
	fmt.Println(codes)
	// Output: [1 2]
}

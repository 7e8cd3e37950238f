package simd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"calibra/graph/work/worktest"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

var transposes = []blas.Transpose{blas.NoTrans, blas.Trans}

// rectangle returns the dimensions of a stored matrix whose op is rows×cols.
func rectangle(t blas.Transpose, rows, cols int) (int, int) {
	if t == blas.NoTrans {
		return rows, cols
	}
	return cols, rows
}

type product[T float32 | float64] func(tA, tB blas.Transpose, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int)

func TestSgemm(t *testing.T) {
	eachInstructionSet(t, func(t *testing.T) { testProduct(t, Sgemm, 0x1p-24) })
}

func TestDgemm(t *testing.T) {
	eachInstructionSet(t, func(t *testing.T) { testProduct(t, Dgemm, 0x1p-53) })
}

// testProduct compares with the sum in float64, in all four orientations, for β = 0,
// 1 and in between, with and without gaps between rows. The error of a running sum
// of k terms is at most k·u·Σ|a·b|, u the unit roundoff; about √k of it is met in
// practice, and 4(1+√k) is allowed.
func testProduct[T float32 | float64](t *testing.T, gemm product[T], u float64) {
	rng := rand.New(rand.NewPCG(21, 22))
	random := func(n int) []T {
		x := make([]T, n)
		for i := range x {
			x[i] = T(rng.NormFloat64())
		}
		return x
	}
	sizes := [][3]int{{1, 1, 1}, {1, 100, 64}, {12, 32, 256}, {13, 33, 257}, {5, 17, 3}, {25, 70, 600}, {64, 10, 31}, {3, 16, 513}, {100, 48, 16}, {260, 37, 20}, {11, 1, 9}, {7, 15, 1}, {9, 8, 40}, {2, 4, 8}}
	const alpha = 1.5
	for _, size := range sizes {
		m, n, k := size[0], size[1], size[2]
		for _, tA := range transposes {
			for _, tB := range transposes {
				for _, beta := range []float64{0, 1, 0.5} {
					ra, ca := rectangle(tA, m, k)
					rb, cb := rectangle(tB, k, n)
					lda, ldb, ldc := ca+rng.IntN(3), cb+rng.IntN(3), n+rng.IntN(3)
					a, b, c := random(ra*lda), random(rb*ldb), random(m*ldc)
					if beta == 0 {
						c[0] = T(math.NaN()) // must not be read
					}
					got := append([]T{}, c...)
					gemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, T(beta), got, ldc)
					for i := range m {
						for j := n; j < ldc; j++ {
							if got[i*ldc+j] != c[i*ldc+j] {
								t.Fatalf("%v %c%c: C[%d, %d], outside, is written", size, tA, tB, i, j)
							}
						}
						for j := range n {
							var want, scale float64
							if beta != 0 {
								want = beta * float64(c[i*ldc+j])
								scale = math.Abs(want)
							}
							for l := range k {
								x, y := i*lda+l, l*ldb+j
								if tA == blas.Trans {
									x = l*lda + i
								}
								if tB == blas.Trans {
									y = j*ldb + l
								}
								term := alpha * float64(a[x]) * float64(b[y])
								want += term
								scale += math.Abs(term)
							}
							if bound := scale * u * 4 * (1 + math.Sqrt(float64(k))); !(math.Abs(float64(got[i*ldc+j])-want) <= bound) {
								t.Fatalf("%v %c%c β=%g: C[%d, %d] = %g, want %g", size, tA, tB, beta, i, j, got[i*ldc+j], want)
							}
						}
					}
				}
			}
		}
	}
}

// Same bytes on one thread and on several.
func TestSgemmThreads(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	sizes, counts := [][3]int{{128, 2000, 64}, {128, 64, 2000}, {64, 1500, 128}, {2048, 10, 128}, {400, 500, 300}}, []int{1, 2, 3, 4}
	if testing.Short() {
		sizes, counts = sizes[:4], []int{1, 3}
	}
	for _, size := range sizes {
		m, n, k := size[0], size[1], size[2]
		for _, tA := range transposes {
			for _, tB := range transposes {
				_, lda := rectangle(tA, m, k)
				_, ldb := rectangle(tB, k, n)
				a, b := normals(m*k, 1), normals(k*n, 2)
				var want []float32
				for _, threads := range counts {
					runtime.GOMAXPROCS(threads)
					c := make([]float32, m*n)
					Sgemm(tA, tB, m, n, k, 1, a, lda, b, ldb, 0, c, n)
					if want == nil {
						want = c
					}
					for i := range c {
						if c[i] != want[i] {
							t.Fatalf("%v %c%c: entry %d differs on %d threads", size, tA, tB, i, threads)
						}
					}
				}
			}
		}
	}
}

func TestSgemmAllocatesNothing(t *testing.T) {
	if isa == portable {
		t.Skip("the portable build multiplies with gonum, which allocates")
	}
	a, b, c := normals(128*64, 1), normals(64*1000, 2), make([]float32, 128*1000)
	if n := testing.AllocsPerRun(20, func() {
		Sgemm(blas.NoTrans, blas.NoTrans, 128, 1000, 64, 1, a, 64, b, 1000, 0, c, 1000)
	}); n >= 1 && !worktest.PoolsAllocate { // a pool may be emptied by the garbage collector in between
		t.Errorf("%g allocations", n)
	}
}

func TestSgemmPanics(t *testing.T) {
	for name, call := range map[string]func(){
		"short A": func() {
			Sgemm('N', 'N', 2, 2, 2, 1, make([]float32, 3), 2, make([]float32, 4), 2, 0, make([]float32, 4), 2)
		},
		"lda": func() {
			Sgemm('N', 'N', 2, 2, 2, 1, make([]float32, 4), 1, make([]float32, 4), 2, 0, make([]float32, 4), 2)
		},
		"negative": func() {
			Sgemm('N', 'N', -1, 2, 2, 1, make([]float32, 4), 2, make([]float32, 4), 2, 0, make([]float32, 4), 2)
		},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			call()
		}()
	}
}

// The shapes of training and inference: products of a batch of 128 with C = 100 and
// their gradients, the head and its gradient, a block of slots with the codebook.
var shapes = []struct {
	tA, tB  blas.Transpose
	m, n, k int
}{
	{'N', 'N', 128, 10000, 64},
	{'N', 'T', 128, 64, 10000},
	{'T', 'N', 64, 10000, 128},
	{'N', 'N', 128, 100, 64},
	{'N', 'T', 8192, 64, 32},
	{'N', 'N', 128, 10, 2048},
	{'T', 'N', 2048, 10, 128},
	{'N', 'T', 1024, 4096, 50},
	{'N', 'N', 1024, 1024, 1024},
	{'N', 'N', 1, 100, 64},
	{'N', 'N', 1, 10000, 64},
	{'N', 'N', 16, 16, 16},
	{'N', 'N', 4, 4, 4},
}

func BenchmarkSgemm(b *testing.B) {
	best := isa
	defer func() { isa = best }()
	for _, s := range shapes {
		_, lda := rectangle(s.tA, s.m, s.k)
		_, ldb := rectangle(s.tB, s.k, s.n)
		x, y, z := normals(s.m*s.k, 1), normals(s.k*s.n, 2), make([]float32, s.m*s.n)
		run := func(name string, f func(tA, tB blas.Transpose, m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc int)) {
			b.Run(fmt.Sprintf("%c%c-%dx%dx%d/%s", s.tA, s.tB, s.m, s.n, s.k, name), func(b *testing.B) {
				for b.Loop() {
					f(s.tA, s.tB, s.m, s.n, s.k, 1, x, lda, y, ldb, 0, z, s.n)
				}
				b.ReportMetric(2*float64(s.m*s.n*s.k)*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
			})
		}
		for _, isa = range instructionSets()[1:] {
			run(InstructionSet(), Sgemm)
		}
		isa = best
		run("gonum", gonum.Implementation{}.Sgemm)
	}
}

func BenchmarkDgemm(b *testing.B) {
	const m, n, k = 512, 512, 512
	x, y, z := make([]float64, m*k), make([]float64, k*n), make([]float64, m*n)
	for i := range x {
		x[i], y[i] = float64(i%7)-3, float64(i%5)-2
	}
	for name, f := range map[string]product[float64]{"simd": Dgemm, "gonum": gonum.Implementation{}.Dgemm} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				f(blas.NoTrans, blas.NoTrans, m, n, k, 1, x, k, y, n, 0, z, n)
			}
			b.ReportMetric(2*m*n*k*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
		})
	}
}

// A product of few columns, which is computed as its transpose, has the bits of the same columns of a wider one.
func TestNarrowProducts(t *testing.T) {
	eachInstructionSet(t, func(t *testing.T) {
		if isa == portable {
			t.Skip("plain Go has no such product")
		}
		for _, size := range [][3]int{{2048, 10, 128}, {1100, 3, 300}, {77, 1, 5}, {64, 12, 257}} {
			m, n, k := size[0], size[1], size[2]
			const wide = 40
			a, b := normals(k*(m+3), 1), normals(k*wide, 2)
			want, got := make([]float32, m*wide), make([]float32, m*(n+1))
			Sgemm(blas.Trans, blas.NoTrans, m, wide, k, 1.5, a, m+3, b, wide, 0, want, wide)
			Sgemm(blas.Trans, blas.NoTrans, m, n, k, 1.5, a, m+3, b, wide, 0, got, n+1)
			for i := range m {
				for j := range n {
					if got[i*(n+1)+j] != want[i*wide+j] {
						t.Fatalf("%v: entry %d, %d is %g, of a wider product %g", size, i, j, got[i*(n+1)+j], want[i*wide+j])
					}
				}
				if got[i*(n+1)+n] != 0 {
					t.Fatalf("%v: row %d is written behind its end", size, i)
				}
			}
		}
	})
}

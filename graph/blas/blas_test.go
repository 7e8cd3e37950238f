package blas

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"calibra/graph/simd"
	"calibra/graph/work/worktest"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/blas/gonum"
	"gonum.org/v1/gonum/floats/scalar"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

var implementations = []struct {
	gorgonia.BLAS
	name string
}{{kernels{}, "calibra"}, {gonum.Implementation{}, "gonum"}}

func random(n int, seed uint64) []float64 {
	rng := rand.New(rand.NewPCG(seed, 1))
	x := make([]float64, n)
	for i := range x {
		x[i] = rng.NormFloat64()
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

// All implementations agree with gonum's. The partial sums of k products of normals
// reach √k and are rounded k times, so both are off by about u·k, u the unit roundoff;
// 8 times that is allowed, and a rounding of β·C.
func TestProductsAgree(t *testing.T) {
	for _, c := range implementations {
		for _, size := range [][3]int{{3, 4, 5}, {40, 50, 60}, {128, 1000, 64}, {1500, 10, 128}, {64, 70, 2000}} {
			m, n, k := size[0], size[1], size[2]
			a, b, base := random(m*k, 1), random(k*n, 2), random(m*n, 3)
			for _, tA := range []blas.Transpose{blas.NoTrans, blas.Trans} {
				for _, tB := range []blas.Transpose{blas.NoTrans, blas.Trans} {
					lda, ldb := k, n
					if tA == blas.Trans {
						lda = m
					}
					if tB == blas.Trans {
						ldb = k
					}
					want := slices.Clone(base)
					gonum.Implementation{}.Dgemm(tA, tB, m, n, k, 1.5, a, lda, b, ldb, 0.5, want, n)
					got64, got32 := slices.Clone(base), single(base)
					c.Dgemm(tA, tB, m, n, k, 1.5, a, lda, b, ldb, 0.5, got64, n)
					c.Sgemm(tA, tB, m, n, k, 1.5, single(a), lda, single(b), ldb, 0.5, got32, n)
					bound := 8 * float64(k+8)
					for i := range want {
						if !scalar.EqualWithinAbs(got64[i], want[i], 0x1p-53*bound) || !scalar.EqualWithinAbs(float64(got32[i]), want[i], 0x1p-24*bound) {
							t.Fatalf("%s %v %c%c: entry %d is %g and %g, want %g", c.name, size, tA, tB, i, got64[i], got32[i], want[i])
						}
					}
				}
			}
		}
	}
}

// Same bytes on one thread and on several.
func TestThreads(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	for _, c := range implementations {
		for _, size := range [][3]int{{128, 3000, 64}, {128, 64, 3000}, {2048, 10, 128}, {500, 500, 300}} {
			m, n, k := size[0], size[1], size[2]
			a, b := single(random(m*k, 1)), single(random(k*n, 2))
			one, four := make([]float32, m*n), make([]float32, m*n)
			runtime.GOMAXPROCS(1)
			c.Sgemm(blas.NoTrans, blas.NoTrans, m, n, k, 1, a, k, b, n, 0, one, n)
			runtime.GOMAXPROCS(4)
			c.Sgemm(blas.NoTrans, blas.NoTrans, m, n, k, 1, a, k, b, n, 0, four, n)
			if !slices.Equal(one, four) {
				t.Errorf("%s %v: one thread and four differ", c.name, size)
			}
		}
	}
}

func TestInstallReachesEveryone(t *testing.T) {
	if got := fmt.Sprintf("%T", blas64.Implementation()); got != "gonum.Implementation" {
		t.Errorf("before Install gonum multiplies with %s", got)
	}
	Install()
	want := fmt.Sprintf("%T", Current())
	for who, got := range map[string]any{
		"gonum float32": blas32.Implementation(), "gonum float64": blas64.Implementation(),
		"gorgonia": gorgonia.WhichBLAS(), "tensor": tensor.WhichBLAS(),
	} {
		if fmt.Sprintf("%T", got) != want {
			t.Errorf("after Install %s multiplies with %T", who, got)
		}
	}
}

func TestProductsAllocateNothing(t *testing.T) {
	a, b, c := single(random(128*64, 1)), single(random(64*1000, 2)), make([]float32, 128*1000)
	for _, i := range implementations {
		if i.name == "gonum" || i.name == "calibra" && simd.InstructionSet() == "go" {
			continue // gonum allocates
		}
		if n := testing.AllocsPerRun(20, func() {
			i.Sgemm(blas.NoTrans, blas.NoTrans, 128, 1000, 64, 1, a, 64, b, 1000, 0, c, 1000)
		}); n >= 1 && !worktest.PoolsAllocate { // a pool may be emptied by the garbage collector in between
			t.Errorf("%s: %g allocations", i.name, n)
		}
	}
}

func TestShortMatrixPanics(t *testing.T) {
	for _, i := range implementations {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", i.name)
				}
			}()
			x := make([]float32, 64*64-1)
			i.Sgemm(blas.NoTrans, blas.NoTrans, 64, 64, 64, 1, x, 64, x, 64, 0, x, 64)
		}()
	}
}

// The products of training and inference, as in package simd.
func BenchmarkSgemm(b *testing.B) {
	for _, s := range []struct {
		tA, tB  blas.Transpose
		m, n, k int
	}{
		{'N', 'N', 128, 10000, 64}, {'N', 'T', 128, 64, 10000}, {'T', 'N', 64, 10000, 128},
		{'N', 'T', 8192, 64, 32}, {'N', 'N', 128, 10, 2048}, {'N', 'T', 1024, 4096, 50}, {'N', 'N', 1024, 1024, 1024},
		{'N', 'N', 128, 100, 64}, {'N', 'N', 32, 32, 32},
	} {
		lda, ldb := s.k, s.n
		if s.tA == 'T' {
			lda = s.m
		}
		if s.tB == 'T' {
			ldb = s.k
		}
		x, y, z := single(random(s.m*s.k, 1)), single(random(s.k*s.n, 2)), make([]float32, s.m*s.n)
		for _, c := range implementations {
			b.Run(fmt.Sprintf("%c%c-%dx%dx%d/%s", s.tA, s.tB, s.m, s.n, s.k, c.name), func(b *testing.B) {
				for b.Loop() {
					c.Sgemm(s.tA, s.tB, s.m, s.n, s.k, 1, x, lda, y, ldb, 0, z, s.n)
				}
				b.ReportMetric(2*float64(s.m*s.n*s.k)*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
			})
		}
	}
}

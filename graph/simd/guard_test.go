//go:build linux || darwin

package simd

import (
	"fmt"
	"syscall"
	"testing"
	"unsafe"

	"gonum.org/v1/gonum/blas"
)

// guarded returns a copy of x that ends where memory ends: one byte read or written
// behind it stops the process.
func guarded[T float32 | float64 | int32](t *testing.T, x []T) []T {
	page := syscall.Getpagesize()
	bytes := len(x) * int(unsafe.Sizeof(x[0]))
	room := ceil(bytes, page) * page
	m, err := syscall.Mmap(-1, 0, room+page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mprotect(m[room:], syscall.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Munmap(m) })
	y := unsafe.Slice((*T)(unsafe.Pointer(&m[room-bytes])), len(x))
	copy(y, x)
	return y
}

// No kernel touches what lies behind its arguments.
func TestNothingBehindTheEnd(t *testing.T) {
	eachInstructionSet(t, func(t *testing.T) {
		for n := 1; n <= 37; n++ {
			t.Run(fmt.Sprint(n), func(t *testing.T) {
				some := func(seed uint64) []float32 { return guarded(t, uniforms[float32](n, seed)) }
				x, y, z, w := some(1), some(2), some(3), some(4)
				for _, f := range append(functions, gammaFunctions...) {
					f.of(y, x)
				}
				DirichletTerms(y, z, w, some(5), x, 1e-8)
				GaussianRow(x, y, 1, 1)
				GaussianMoments(x, y, z, 1, 1)
				Axpy(y, Dot(x, y), x)
				Adam{Beta1: 0.9}.Step(x, y, z, w)
				codes := guarded(t, make([]int32, 3))
				AddSlots(guarded(t, make([]float32, 2*n)), guarded(t, make([]float32, 3*n)), codes, n, 0, n)
				var c Codebook
				c.Set(guarded(t, uniforms[float32](5*n, 6)), 5, n)
				NearestRows(codes, guarded(t, uniforms[float32](3*n, 7)), &c)
				a := guarded(t, uniforms[float32](2*n*n, 8))
				rows, logs := guarded(t, make([]float32, 2*n)), guarded(t, make([]float32, 2*n))
				DirichletScores(rows, a, logs, n, 1, 1e-8)
				DirichletSlopes(a, a, logs, rows, n, 1e-8)
				DirichletScoresAndSlopes(rows, guarded(t, a), a, logs, n, 1, 1e-8)
				ScaleColumns(a, rows, n)
				Outer(guarded(t, make([]float32, n*n)), x, y)
				for _, tA := range transposes {
					for _, tB := range transposes {
						multiplyGuarded(t, Sgemm, tA, tB, n)
						multiplyGuarded(t, Dgemm, tA, tB, n)
					}
				}
			})
		}
	})
}

func multiplyGuarded[T float32 | float64](t *testing.T, gemm product[T], tA, tB blas.Transpose, n int) {
	m, k := n%14+1, 38-n
	_, lda := rectangle(tA, m, k)
	_, ldb := rectangle(tB, k, n)
	a, b, c := guarded(t, make([]T, m*k)), guarded(t, make([]T, k*n)), guarded(t, make([]T, m*n))
	gemm(tA, tB, m, n, k, 1, a, lda, b, ldb, 1, c, n)
}

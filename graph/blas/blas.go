// Package blas multiplies matrices: by the vector kernels of package simd, or by gonum's loops in Go on a machine for
// which simd has none. The ops of package op call [Current]. Importing the package changes nothing. A program calls
// [Install], as the command does, to have gonum, Gorgonia and tensor multiply in the same way.
//
// On one thread of a Xeon with AVX-512 (Cascade Lake), over the products of training,
// inference and the local metrics, package simd reaches 0.94 to 1.5 times the rate of
// OpenBLAS 0.3.21, and 10 to 40 times gonum's; BenchmarkSgemm prints the rates. Both give
// the same bytes on any number of threads.
package blas

import (
	"calibra/graph/simd"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/blas/gonum"
	"gorgonia.org/gorgonia"
)

// Current multiplies matrices on this machine.
func Current() gorgonia.BLAS {
	if Name() == "gonum" {
		return gonum.Implementation{}
	}
	return kernels{}
}

// Name is the name of Current: calibra or gonum.
func Name() string {
	if simd.InstructionSet() == "go" {
		return "gonum"
	}
	return "calibra"
}

// InstructionSet names the vector units that Current and this package's functions use.
func InstructionSet() string { return simd.InstructionSet() }

// ExpNegative sets dst = eˣ for x ≤ 0; dst may be x.
func ExpNegative(dst, x []float64) { simd.ExpNegative64(dst, x) }

// Log sets dst = ln x; dst may be x.
func Log(dst, x []float64) { simd.Log64(dst, x) }

// MulAdd adds a∘x to y, number by number.
func MulAdd(y, a, x []float32) { simd.MulAdd(y, a, x) }

// Times multiplies y by x, number by number.
func Times(y, x []float32) { simd.Times(y, x) }

// ExpColumns sets most to the greatest of each column of x, whose rows are as long as most, p to exp(x − most), and sum
// to the sum of each column of p.
func ExpColumns(p, sum, most, x []float32) { simd.ExpColumns(p, sum, most, x) }

// Install has gonum, Gorgonia and tensor multiply as [Current] does, from now on. It must not be called while products
// run.
func Install() {
	blas32.Use(Current())
	blas64.Use(Current())
	gorgonia.Use(Current())
}

// kernels is gonum's implementation with the products of package simd.
type kernels struct{ gonum.Implementation }

func (kernels) Sgemm(tA, tB blas.Transpose, m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc int) {
	simd.Sgemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
}

func (kernels) Dgemm(tA, tB blas.Transpose, m, n, k int, alpha float64, a []float64, lda int, b []float64, ldb int, beta float64, c []float64, ldc int) {
	simd.Dgemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
}

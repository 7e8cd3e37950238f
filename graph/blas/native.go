package blas

import (
	"calibra/graph/simd"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
	"gorgonia.org/gorgonia"
)

// kernels is gonum's implementation with the products of package simd.
type kernels struct{ gonum.Implementation }

var _ gorgonia.BLAS = kernels{}

func native() choice { return choice{BLAS: kernels{}, name: "calibra", version: simd.InstructionSet()} }

func (kernels) Sgemm(tA, tB blas.Transpose, m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc int) {
	simd.Sgemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
}

func (kernels) Dgemm(tA, tB blas.Transpose, m, n, k int, alpha float64, a []float64, lda int, b []float64, ldb int, beta float64, c []float64, ldc int) {
	simd.Dgemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
}

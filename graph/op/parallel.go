package op

import (
	ours "calibra/graph/blas"
	"calibra/graph/simd"

	"gonum.org/v1/gonum/blas"
)

// blockwise is a function of a block's number as [simd.Blocks].
type blockwise func(i int)

func (f blockwise) Block(i int) { f(i) }

// parallel calls f(0) … f(n−1), side by side where threads are idle. No two calls
// may write the same memory.
func parallel(n int, f func(i int)) { simd.Run(n, blockwise(f)) }

// rowBlock is how many rows of a matrix one call of a rowwise function works on.
const rowBlock = 256

// rowwise calls f for stretches lo … hi−1 of n rows, side by side.
func rowwise(n int, f func(lo, hi int)) {
	parallel((n+rowBlock-1)/rowBlock, func(i int) { f(i*rowBlock, min((i+1)*rowBlock, n)) })
}

// gemm computes C = op(A)·op(B) + β·C, row-major, multiplied by whom package blas
// chose.
func gemm[F Float](tA, tB blas.Transpose, m, n, k int, a []F, lda int, b []F, ldb int, beta F, c []F, ldc int) {
	switch a := any(a).(type) {
	case []float32:
		ours.Current().Sgemm(tA, tB, m, n, k, 1, a, lda, any(b).([]float32), ldb, float32(beta), any(c).([]float32), ldc)
	case []float64:
		ours.Current().Dgemm(tA, tB, m, n, k, 1, a, lda, any(b).([]float64), ldb, float64(beta), any(c).([]float64), ldc)
	}
}

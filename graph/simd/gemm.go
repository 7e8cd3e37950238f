package simd

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

// Sgemm computes C = α·op(A)·op(B) + β·C with the arguments of gonum's
// blas.Float32, and panics where it does: op(A) is m×k, op(B) k×n, C m×n, row-major,
// op the identity or the transpose. C must not overlap A or B. With β = 0, C is not
// read.
//
// It runs on Threads threads, and gives the same bits on any number of them: each
// entry of C is one running sum over k, rounded into C every 256 terms, however C is
// cut. Without vector units for it, it is gonum's.
func Sgemm(tA, tB blas.Transpose, m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc int) {
	if isa == portable || m <= 0 || n <= 0 || k <= 0 || alpha == 0 {
		gonum.Implementation{}.Sgemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	}
	sets[isa].singles.product(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
}

// Dgemm is Sgemm in float64.
func Dgemm(tA, tB blas.Transpose, m, n, k int, alpha float64, a []float64, lda int, b []float64, ldb int, beta float64, c []float64, ldc int) {
	if isa == portable || m <= 0 || n <= 0 || k <= 0 || alpha == 0 {
		gonum.Implementation{}.Dgemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	}
	sets[isa].doubles.product(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
}

// scaleRows multiplies C by β, unless the product kernels do so themselves.
func scaleRows[T float32 | float64](c []T, m, n, ldc int, beta T) {
	if beta == 0 || beta == 1 {
		return
	}
	for i := range m {
		row := c[i*ldc : i*ldc+n]
		for j := range row {
			row[j] *= beta
		}
	}
}

// checkGemm panics where gonum does, for positive dimensions.
func checkGemm(tA, tB blas.Transpose, m, n, k int, lenA, lda, lenB, ldb, lenC, ldc int) {
	rowsA, colsA := oriented(tA, m, k)
	rowsB, colsB := oriented(tB, k, n)
	switch {
	case lda < max(1, colsA), ldb < max(1, colsB), ldc < max(1, n):
		panic("simd: leading dimension below the number of columns")
	case lenA < (rowsA-1)*lda+colsA, lenB < (rowsB-1)*ldb+colsB, lenC < (m-1)*ldc+n:
		panic("simd: matrix shorter than its dimensions")
	}
}

// oriented are the rows and columns of a matrix as it is stored.
func oriented(t blas.Transpose, rows, cols int) (int, int) {
	switch t {
	case blas.NoTrans:
		return rows, cols
	case blas.Trans, blas.ConjTrans:
		return cols, rows
	}
	panic("simd: bad transpose")
}

func ceil(a, b int) int { return (a + b - 1) / b }

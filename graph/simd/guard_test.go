//go:build linux || darwin

package simd

import (
	"fmt"
	"testing"

	"calibra/graph/simd/simdtest"

	"gonum.org/v1/gonum/blas"
)

// No kernel touches what lies behind its arguments.
func TestNothingBehindTheEnd(t *testing.T) {
	eachInstructionSet(t, func(t *testing.T) {
		for n := 1; n <= 37; n++ {
			t.Run(fmt.Sprint(n), func(t *testing.T) {
				some := func(seed uint64) []float32 { return simdtest.Guarded(t, uniforms[float32](n, seed)) }
				x, y, z, w := some(1), some(2), some(3), some(4)
				for _, f := range append(functions, gammaFunctions...) {
					f.of(y, x)
				}
				softplusSigmoidKernel(y, z, x, 1e-8)
				lgammaDigammaKernel(y, z, x)
				doubles := simdtest.Guarded(t, make([]float64, n))
				SoftplusPlus64(doubles, simdtest.Guarded(t, uniforms[float64](n, 5)), 1e-8)
				Lgamma64(doubles, doubles)
				GaussianRow(x, y, 1, 1)
				Dot(x, y)
				LessMost(y, x, n)
				MulAdd(y, z, x)
				Times(y, x)
				ExpColumns(y, z, w, x)
				Dots(simdtest.Guarded(t, make([]float32, 3)), simdtest.Guarded(t, make([]float32, 3*n)), x)
				Adam{Beta1: 0.9}.Step(x, y, z, w)
				codes := simdtest.Guarded(t, make([]int32, 3))
				TakeRows(simdtest.Guarded(t, make([]float32, 3*n)), simdtest.Guarded(t, make([]float32, n)), codes, n)
				TakeRows(simdtest.Guarded(t, make([]float32, 7*n)), x, simdtest.Guarded(t, make([]int32, 7)), n)
				table := simdtest.Guarded(t, make([]float32, 3*2*n))
				codes[2] = 1
				SumRows(x, table, codes, 2)
				AddToRows(table, x, codes, 2)
				SumListed(x, simdtest.Guarded(t, make([]float32, 2*n)), codes)
				shares := simdtest.Guarded(t, make([]float32, 3))
				SumShares(x, table, n, 0, []int32{3}, codes, shares)
				SumShares(simdtest.Guarded(t, make([]float32, 5*n)), table, n, 0, []int32{3, 6, 9, 12, 15}, simdtest.Guarded(t, make([]int32, 15)), simdtest.Guarded(t, make([]float32, 15)))
				AddToRows(simdtest.Guarded(t, make([]float32, 17*n)), x, simdtest.Guarded(t, make([]int32, 17)), 1)
				AddShares(table, x, codes, shares)
				var c Codebook
				c.Set(simdtest.Guarded(t, uniforms[float32](5*n, 6)), 5, n)
				NearestRows(codes, simdtest.Guarded(t, uniforms[float32](3*n, 7)), &c)
				NearestRows(simdtest.Guarded(t, make([]int32, 80)), simdtest.Guarded(t, uniforms[float32](80*n, 7)), &c)
				NearestCentred(codes[:2], simdtest.Guarded(t, uniforms[float32](2*n, 7)), simdtest.Guarded(t, make([]float64, n)), &c)
				NearestCentred(simdtest.Guarded(t, make([]int32, 80)), simdtest.Guarded(t, uniforms[float32](80*n, 7)),
					simdtest.Guarded(t, make([]float64, 20*n)), &c)
				a := simdtest.Guarded(t, uniforms[float32](2*n*n, 8))
				rows, logs := simdtest.Guarded(t, make([]float32, 2*n)), simdtest.Guarded(t, make([]float32, 2*n))
				DirichletScores(rows, a, logs, n, 1, 1e-8)
				DirichletGradient(a, a, logs, rows, n, 1e-8)
				DirichletScoresAndGradient(rows, simdtest.Guarded(t, a), a, logs, n, 1, 1e-8)
				ScaleColumns(a, rows, n)
				Outer(simdtest.Guarded(t, make([]float32, n*n)), x, y)
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
	a, b, c := simdtest.Guarded(t, make([]T, m*k)), simdtest.Guarded(t, make([]T, k*n)), simdtest.Guarded(t, make([]T, m*n))
	gemm(tA, tB, m, n, k, 1, a, lda, b, ldb, 1, c, n)
}

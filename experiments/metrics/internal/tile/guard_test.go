//go:build linux || darwin

package tile

import (
	"fmt"
	"testing"

	"calibra/graph/simd/simdtest"
)

// No kernel touches what lies behind its arguments.
func TestNothingBehindTheEnd(t *testing.T) {
	eachInstructionSet(t, func(t *testing.T) {
		for n := 1; n <= 2*registerRows; n++ {
			t.Run(fmt.Sprint(n), func(t *testing.T) {
				some := func(length int, seed uint64) []float32 { return simdtest.Guarded(t, uniforms(length, seed)) }
				for _, k := range []int{1, 2, 53} {
					stride := k + n%3
					dst, a, b := some(n*Lanes, 1), some((n-1)*stride+k, 2), some(k*Lanes, 3)
					Multiply(dst, a, stride, n, k, b)
					MultiplySquares(dst, a, stride, n, k, b)
					Distances(dst, a, stride, n, k, b)
				}
				Gaussian(some(n*Lanes, 4))
				Accumulate(simdtest.Guarded(t, make([]float64, n*Lanes)), some(n*Lanes, 5))
				AddRows(some(5*Lanes, 6), simdtest.Guarded(t, make([]int32, 5*n)), n, some(n*Lanes, 7))
			})
		}
		lists := someLists()
		lists.from, lists.rows, lists.e = simdtest.Guarded(t, lists.from), simdtest.Guarded(t, lists.rows), simdtest.Guarded(t, lists.e)
		SumLists(simdtest.Guarded(t, uniforms(3*Lanes, 8)), someColumns(), lists, simdtest.Guarded(t, uniforms(4*Lanes, 9)))
	})
}

//go:build arm64 && !noasm

package simd

var (
	sgemm128 = (&gemmKernels[float32]{
		size: 4, lanes: 4,
		rows:           [2]panelProduct[float32]{sgemmRows1NEON, sgemmRows2NEON},
		columns:        [2]panelProduct[float32]{sgemmColumns1NEON, sgemmColumns2NEON},
		packRows:       [2]func(dst, src *float32, lds, k, n int){spackRows1NEON, spackRows2NEON},
		packTransposed: spackTransposedNEON,
	}).withPools()
	dgemm128 = (&gemmKernels[float64]{
		size: 8, lanes: 2,
		rows:           [2]panelProduct[float64]{dgemmRows1NEON, dgemmRows2NEON},
		columns:        [2]panelProduct[float64]{dgemmColumns1NEON, dgemmColumns2NEON},
		packRows:       [2]func(dst, src *float64, lds, k, n int){dpackRows1NEON, dpackRows2NEON},
		packTransposed: dpackTransposedNEON,
	}).withPools()
)

func singles() *gemmKernels[float32] { return sgemm128 }

func doubles() *gemmKernels[float64] { return dgemm128 }

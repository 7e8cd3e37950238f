//go:build amd64 && !noasm

package simd

var (
	sgemm512 = (&gemmKernels[float32]{
		size: 4, lanes: 16,
		rows:           [2]panelProduct[float32]{sgemmRows1AVX512, sgemmRows2AVX512},
		columns:        [2]panelProduct[float32]{sgemmColumns1AVX512, sgemmColumns2AVX512},
		packRows:       [2]func(dst, src *float32, lds, k, n int){spackRows1AVX512, spackRows2AVX512},
		packTransposed: spackTransposedAVX512,
	}).withPools()
	sgemm256 = (&gemmKernels[float32]{
		size: 4, lanes: 8,
		rows:           [2]panelProduct[float32]{sgemmRows1AVX2, sgemmRows2AVX2},
		columns:        [2]panelProduct[float32]{sgemmColumns1AVX2, sgemmColumns2AVX2},
		packRows:       [2]func(dst, src *float32, lds, k, n int){spackRows1AVX2, spackRows2AVX2},
		packTransposed: spackTransposedAVX2,
	}).withPools()
	dgemm512 = (&gemmKernels[float64]{
		size: 8, lanes: 8,
		rows:           [2]panelProduct[float64]{dgemmRows1AVX512, dgemmRows2AVX512},
		columns:        [2]panelProduct[float64]{dgemmColumns1AVX512, dgemmColumns2AVX512},
		packRows:       [2]func(dst, src *float64, lds, k, n int){dpackRows1AVX512, dpackRows2AVX512},
		packTransposed: dpackTransposedAVX512,
	}).withPools()
	dgemm256 = (&gemmKernels[float64]{
		size: 8, lanes: 4,
		rows:           [2]panelProduct[float64]{dgemmRows1AVX2, dgemmRows2AVX2},
		columns:        [2]panelProduct[float64]{dgemmColumns1AVX2, dgemmColumns2AVX2},
		packRows:       [2]func(dst, src *float64, lds, k, n int){dpackRows1AVX2, dpackRows2AVX2},
		packTransposed: dpackTransposedAVX2,
	}).withPools()
)

func singles() *gemmKernels[float32] {
	if isa == avx512 {
		return sgemm512
	}
	return sgemm256
}

func doubles() *gemmKernels[float64] {
	if isa == avx512 {
		return dgemm512
	}
	return dgemm256
}

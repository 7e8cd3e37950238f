//go:build amd64 && !noasm

package tile

import "calibra/graph/simd"

// isa is the instruction set the kernels run on, that of package simd.
var isa = map[string]instructionSet{"go": portable, "avx2": avx2, "avx512": avx512, "avx512+amx": avx512}[simd.InstructionSet()]

var sets = [neon + 1]kernels{
	avx512: {
		distances: [registerRows]func(dst, a *float32, stride, k int, b *float32){distances1AVX512, distances2AVX512, distances3AVX512, distances4AVX512, distances5AVX512, distances6AVX512},
		gaussian:  gaussianAVX512, addRows: [2]func(dst *float32, size int, index *int32, n int, b *float32){addRows1AVX512, addRows4AVX512}, sumLists: sumListsAVX512,
	},
	avx2: {
		distances: [registerRows]func(dst, a *float32, stride, k int, b *float32){distances1AVX2, distances2AVX2, distances3AVX2, distances4AVX2, distances5AVX2, distances6AVX2},
		gaussian:  gaussianAVX2, addRows: [2]func(dst *float32, size int, index *int32, n int, b *float32){addRows1AVX2, addRows4AVX2}, sumLists: sumListsAVX2,
	},
}

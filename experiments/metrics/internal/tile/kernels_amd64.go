//go:build amd64 && !noasm

package tile

import "calibra/graph/simd"

// isa is the instruction set the kernels run on, that of package simd.
var isa = map[string]instructionSet{"go": portable, "avx2": avx2, "avx512": avx512, "avx512+vnni": avx512, "avx512+amx": avx512}[simd.InstructionSet()]

var sets = [neon + 1]kernels{
	avx512: {
		multiply:        [registerRows]blockKernel{multiply1AVX512, multiply2AVX512, multiply3AVX512, multiply4AVX512, multiply5AVX512, multiply6AVX512},
		multiplySquares: [registerRows]blockKernel{multiplySquares1AVX512, multiplySquares2AVX512, multiplySquares3AVX512, multiplySquares4AVX512, multiplySquares5AVX512, multiplySquares6AVX512},
		distances:       [registerRows]blockKernel{distances1AVX512, distances2AVX512, distances3AVX512, distances4AVX512, distances5AVX512, distances6AVX512},
		gaussian:        gaussianAVX512, addRows: [2]func(dst *float32, size int, index *int32, n int, b *float32){addRows1AVX512, addRows4AVX512}, sumLists: sumListsAVX512, accumulate: accumulateAVX512,
	},
	avx2: {
		multiply:        [registerRows]blockKernel{multiply1AVX2, multiply2AVX2, multiply3AVX2, multiply4AVX2, multiply5AVX2, multiply6AVX2},
		multiplySquares: [registerRows]blockKernel{multiplySquares1AVX2, multiplySquares2AVX2, multiplySquares3AVX2, multiplySquares4AVX2, multiplySquares5AVX2, multiplySquares6AVX2},
		distances:       [registerRows]blockKernel{distances1AVX2, distances2AVX2, distances3AVX2, distances4AVX2, distances5AVX2, distances6AVX2},
		gaussian:        gaussianAVX2, addRows: [2]func(dst *float32, size int, index *int32, n int, b *float32){addRows1AVX2, addRows4AVX2}, sumLists: sumListsAVX2, accumulate: accumulateAVX2,
	},
}

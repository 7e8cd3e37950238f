//go:build arm64 && !noasm

package tile

// isa is the instruction set the kernels run on: every arm64 processor has NEON. The
// tests set portable too.
var isa = neon

var sets = [neon + 1]kernels{
	neon: {
		multiply:        [registerRows]blockKernel{multiply1NEON, multiply2NEON, multiply3NEON, multiply4NEON, multiply5NEON, multiply6NEON},
		multiplySquares: [registerRows]blockKernel{multiplySquares1NEON, multiplySquares2NEON, multiplySquares3NEON, multiplySquares4NEON, multiplySquares5NEON, multiplySquares6NEON},
		distances:       [registerRows]blockKernel{distances1NEON, distances2NEON, distances3NEON, distances4NEON, distances5NEON, distances6NEON},
		gaussian:        gaussianNEON, addRows: [2]func(dst *float32, size int, index *int32, n int, b *float32){addRows1NEON, addRows4NEON}, sumLists: sumListsNEON, accumulate: accumulateNEON,
	},
}

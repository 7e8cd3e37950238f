//go:build arm64 && !noasm

package tile

// isa is the instruction set the kernels run on: every arm64 processor has NEON. The
// tests set portable too.
var isa = neon

var sets = [neon + 1]kernels{
	neon: {
		distances: [registerRows]func(dst, a *float32, stride, k int, b *float32){distances1NEON, distances2NEON, distances3NEON, distances4NEON, distances5NEON, distances6NEON},
		gaussian:  gaussianNEON, addRows: [2]func(dst *float32, size int, index *int32, n int, b *float32){addRows1NEON, addRows4NEON}, sumLists: sumListsNEON,
	},
}

package tile

// instructionSet names a family of kernels.
type instructionSet int

const (
	portable instructionSet = iota // plain Go
	avx2                           // 8 lanes, AVX2 and FMA
	avx512                         // 16 lanes, AVX-512 F, DQ, BW and VL
	neon                           // 4 lanes, arm64
)

// blockKernel computes a block of 1 to registerRows rows.
type blockKernel func(dst, a *float32, stride, k int, b *float32)

// kernels are the assembly of one instruction set, by the rows of a block where it matters. What
// each computes, its portable form says.
type kernels struct {
	multiply, multiplySquares, distances [registerRows]blockKernel

	gaussian   func(x *float32, n int)
	addRows    [2]func(dst *float32, size int, index *int32, n int, b *float32) // of one table, and of rowTables
	sumLists   func(dst *float32, columns *int32, n int, from, rows *int32, e, k *float32)
	accumulate func(dst *float64, x *float32, n int)
}

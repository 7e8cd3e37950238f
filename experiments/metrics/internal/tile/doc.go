// Package tile computes on tiles of 64 columns, the 64 rows of a stripe that meet a
// block of other rows: distances, kernel values, and the sums over the block.
//
// A tile is row-major, n×64 float32. On amd64 the kernels are Go assembly, generated
// by gen with avo, for AVX-512 or AVX2 with FMA, whichever the processor has; both
// give the same bits. Elsewhere, and under the build tag noasm, they run in plain
// Go, which rounds a product before it adds it. The result in each column depends
// neither on the other columns nor on how rows are grouped.
//
// All functions panic if a slice is too short for the stated shape.
package tile

//go:generate go run -tags generate ./gen -pkg tile -out tile_avx2_amd64.s -stubs tile_avx2_amd64.go
//go:generate go run -tags generate ./gen -avx512 -pkg tile -out tile_avx512_amd64.s -stubs tile_avx512_amd64.go

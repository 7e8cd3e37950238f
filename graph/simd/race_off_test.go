//go:build !race

package simd

const poolsAllocate = false

//go:build !race

package bench

const poolsAllocate = false

//go:build !race

package layers

const poolsAllocate = false

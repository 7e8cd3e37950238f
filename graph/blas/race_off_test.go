//go:build !race

package blas

const poolsAllocate = false

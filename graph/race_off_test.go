//go:build !race

package graph_test

const poolsAllocate = false

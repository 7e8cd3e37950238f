//go:build !race

// Package worktest says what tests of memory must know.
package worktest

// PoolsAllocate: the race detector is off.
const PoolsAllocate = false

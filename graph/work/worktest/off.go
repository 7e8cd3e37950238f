//go:build !race

// Package worktest says what tests of memory and of time must know.
package worktest

// PoolsAllocate: the race detector is off.
const PoolsAllocate = false

//go:build race

package main

// The race detector makes sync.Pool drop what it is given, so pools allocate.
const poolsAllocate = true

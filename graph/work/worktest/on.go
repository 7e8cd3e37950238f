//go:build race

package worktest

// PoolsAllocate: the race detector makes sync.Pool drop what it is given, so pools allocate.
const PoolsAllocate = true

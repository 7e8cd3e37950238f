//go:build !race

package main

const poolsAllocate = false

package op

import (
	"runtime"
	"sync"
)

// parallel splits 0…n−1 over the cores and runs each part. No part writes what
// another reads, so the result does not depend on the number of cores. Work of
// fewer than grain items per core stays on the caller's goroutine.
func parallel(n, grain int, part func(lo, hi int)) {
	cores := min(runtime.GOMAXPROCS(0), n/max(grain, 1))
	if cores <= 1 {
		part(0, n)
		return
	}
	var wg sync.WaitGroup
	for c := 1; c < cores; c++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			part(n*c/cores, n*(c+1)/cores)
		}()
	}
	part(0, n/cores)
	wg.Wait()
}

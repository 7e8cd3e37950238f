package program

import (
	"context"
	"runtime"
	"sync"

	"calibra/graph/simd"

	"github.com/sourcegraph/conc/pool"
)

// Jobs is how many pieces of work run side by side: n, or one a core if n is 0.
func Jobs(n int) int {
	if n <= 0 {
		return runtime.GOMAXPROCS(0)
	}
	return n
}

// SideBySide does the work 0 … n−1 in this order, jobs at a time (see [Jobs]); where there
// are several, they share the cores. ended is told of each that ended, one at a time;
// it may be nil. If ctx is cancelled, no more work begins, and the error is ctx.Err(); nor
// does any if some panics, and then SideBySide does when the rest has ended.
func SideBySide(ctx context.Context, n, jobs int, work, ended func(i int)) error {
	jobs = Jobs(jobs)
	var lock sync.Mutex
	group := pool.New().WithMaxGoroutines(jobs).WithContext(ctx).WithCancelOnError()
	for i := range n {
		if ctx.Err() != nil {
			break
		}
		group.Go(func(ctx context.Context) error {
			if ctx.Err() != nil { // while it waited for its turn
				return nil
			}
			if jobs > 1 {
				defer simd.Abreast()()
			}
			work(i)
			if ended != nil && ctx.Err() == nil {
				lock.Lock()
				defer lock.Unlock()
				ended(i)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil { // the work keeps its errors itself
		return err
	}
	return ctx.Err()
}

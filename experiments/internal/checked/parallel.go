package checked

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/sourcegraph/conc"
)

// InParallelWith calls what newWorker made, once a goroutine, for each k below times.
func InParallelWith(ctx context.Context, times int, newWorker func() func(k int)) error {
	var next atomic.Int64
	var wait conc.WaitGroup
	for range min(runtime.GOMAXPROCS(0), times) {
		work := newWorker()
		wait.Go(func() {
			for k := int(next.Add(1)) - 1; k < times && ctx.Err() == nil; k = int(next.Add(1)) - 1 {
				work(k)
			}
		})
	}
	wait.Wait()
	return ctx.Err()
}

// InParallel calls do for each k below times.
func InParallel(times int, do func(k int)) {
	InParallelWith(context.Background(), times, func() func(int) { return do })
}

// Progress counts what is done and tells it, one report at a time.
type Progress struct {
	lock        sync.Mutex
	done, Total int
	Report      func(done, total int)
}

func (p *Progress) Add(rows int) {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.done += rows
	if p.Report != nil {
		p.Report(p.done, p.Total)
	}
}

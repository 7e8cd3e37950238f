package simd

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/sourcegraph/conc/panics"
)

// Blocks is work cut into numbered blocks that may run in any order and at the
// same time. For the same bytes on any number of threads, the cut must not depend
// on that number and no two blocks may write the same memory.
type Blocks interface {
	Block(i int)
}

// Run calls b.Block(0) … b.Block(n−1), on the calling goroutine and on as many idle
// workers as Threads allows, and returns when all are done. It allocates nothing
// once warm (pass a pointer) and may be nested. Where a block panics, Run does, with a
// [*panics.Recovered] if it ran beside others.
func Run(n int, b Blocks) {
	helpers := min(Threads(), n) - 1
	if helpers <= 0 {
		for i := range n {
			b.Block(i)
		}
		return
	}
	r := runs.Get().(*run)
	r.blocks, r.n = b, int64(n)
	r.next.Store(0)
	r.offer(helpers)
	r.failed.Try(r.work)
	r.busy.Wait()
	r.failed.Repanic()
	r.blocks = nil
	runs.Put(r)
}

// SetThreads limits Run to n threads, the caller's included; 0 stands for
// GOMAXPROCS, the default. Cells of a study that run side by side set 1.
func SetThreads(n int) { threads.Store(int64(max(n, 0))) }

// Threads is the number of threads that one Run may use.
func Threads() int {
	n := runtime.GOMAXPROCS(0)
	if limit := int(threads.Load()); limit > 0 {
		return min(n, limit)
	}
	return n
}

var threads atomic.Int64

// run is one call of Run in flight.
type run struct {
	blocks Blocks
	n      int64
	next   atomic.Int64 // the first block that nobody has taken
	busy   sync.WaitGroup
	failed panics.Catcher
	work   func() // takes blocks until there are no more
}

var runs = sync.Pool{New: func() any {
	r := new(run)
	r.work = r.takeBlocks
	return r
}}

func (r *run) takeBlocks() {
	for {
		i := r.next.Add(1) - 1
		if i >= r.n {
			return
		}
		r.blocks.Block(int(i))
	}
}

// Workers live as long as the process and wait on offers, which only an idle one
// receives: a busy machine leaves the work to the caller.
var (
	offers  = make(chan *run)
	workers atomic.Int64
)

func (r *run) offer(helpers int) {
	for workers.Load() < int64(helpers) {
		workers.Add(1)
		go func() {
			for r := range offers {
				r.failed.Try(r.work)
				r.busy.Done()
			}
		}()
	}
	for range helpers {
		r.busy.Add(1)
		select {
		case offers <- r:
		default:
			r.busy.Done()
			return
		}
	}
}

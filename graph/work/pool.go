package work

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

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
	r.state.Store(int64(helpers) * place)
	r.offer(helpers)
	r.failed.Try(r.work)
	r.wait()
	r.failed.Repanic()
	r.blocks = nil
	runs.Put(r)
}

// Jobs lends memory for work that [Run] shares out, so that a call does not allocate.
type Jobs[T any, P interface {
	*T
	Blocks
}] struct{ pool sync.Pool }

// Run works on n blocks of job.
func (j *Jobs[T, P]) Run(n int, job T) {
	p, ok := j.pool.Get().(P)
	if !ok {
		p = new(T)
	}
	*p = job
	Run(n, p)
	*p = *new(T)
	j.pool.Put(p)
}

// Each calls f(0) … f(n−1), so many one after another, side by side where threads are idle. No two calls may write the
// same memory.
func Each(n, size int, f func(i int)) {
	if size == 1 {
		Run(n, blockwise(f))
		return
	}
	Ranges(n, size, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			f(i)
		}
	})
}

// Ranges calls f for the numbers lo … hi−1 of n, so many at a time, side by side where threads are idle.
func Ranges(n, size int, f func(lo, hi int)) {
	if n <= size { // without memory for the rest
		f(0, n)
		return
	}
	Run((n+size-1)/size, blockwise(func(i int) { f(i*size, min((i+1)*size, n)) }))
}

// blockwise is a function of a block's number.
type blockwise func(i int)

func (f blockwise) Block(i int) { f(i) }

// Threads is the number of threads that one Run may use: the goroutines that compute for [Parts] share them evenly.
func Threads() int { return max(1, runtime.GOMAXPROCS(0)/max(1, int(computing.Load()))) }

// computing is how many goroutines compute.
var computing atomic.Int64

func init() { computing.Store(1) }

// run is one call of Run in flight.
type run struct {
	blocks Blocks
	n      int64
	next   atomic.Int64  // the first block that nobody has taken
	state  atomic.Int64  // workers that help, and a place for each that still may; or closed, and workers
	ended  chan struct{} // after closing, by the last of them
	failed panics.Catcher
	work   func() // takes blocks until there are no more
}

const (
	place  = 1 << 32
	closed = -1 << 62
)

var runs = sync.Pool{New: func() any {
	r := &run{ended: make(chan struct{}, 1)}
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

// offer offers work to that many workers. A busy machine leaves the work to the caller, who does not wait for
// a worker that has not begun.
func (r *run) offer(helpers int) {
	hire(helpers)
	for helpers > 0 && r.handed() {
		helpers--
	}
}

// handed reports whether a worker took the run: one that looks out for work, or else one that sleeps.
func (r *run) handed() bool {
	now := time.Since(began)
	for _, w := range *team.Load() {
		if w.awake(now) && w.mail.CompareAndSwap(nothing, r) {
			return true
		}
	}
	select {
	case asleep <- r:
		return true
	default:
		return false
	}
}

// begin reports whether a worker may help. One that comes late finds the run closed, or another one in its
// memory, which it may help as well.
func (r *run) begin() bool {
	for {
		s := r.state.Load()
		if s < place {
			return false
		}
		if r.state.CompareAndSwap(s, s-place+1) {
			return true
		}
	}
}

func (r *run) end() {
	if r.state.Add(-1) == closed {
		r.ended <- struct{}{}
	}
}

// wait returns when all helpers that have begun have ended, and lets no more begin.
func (r *run) wait() {
	s := r.state.Load()
	for !r.state.CompareAndSwap(s, closed+s%place) {
		s = r.state.Load()
	}
	if s%place == 0 {
		return
	}
	for start := time.Now(); r.state.Load() != closed && time.Since(start) < patience; {
	}
	<-r.ended
}

// worker helps with runs. To wake a sleeping thread takes some 50 µs, as long as many a block, so
// a worker looks out for more work before it sleeps.
type worker struct {
	mail atomic.Pointer[run] // nothing while it looks out for work
	seen atomic.Int64        // when it last did so, in nanoseconds after began
}

// awake reports whether w looks out for work, and was not put off its core meanwhile, as it is on a
// busy machine.
func (w *worker) awake(now time.Duration) bool {
	return w.mail.Load() == nothing && now-time.Duration(w.seen.Load()) < fresh
}

const (
	patience = 100 * time.Microsecond // how long to look out before going to sleep
	fresh    = 5 * time.Microsecond
)

var began = time.Now()

// nothing marks the mail of a worker that looks out for work.
var nothing = new(run)

// Workers live as long as the process.
var (
	team   atomic.Pointer[[]*worker]
	hiring sync.Mutex
	asleep = make(chan *run) // received by sleeping workers alone
)

// hire makes sure that there are n workers.
func hire(n int) {
	if at := team.Load(); at != nil && len(*at) >= n {
		return
	}
	hiring.Lock()
	defer hiring.Unlock()
	var all []*worker
	if at := team.Load(); at != nil {
		all = slices.Clone(*at)
	}
	for len(all) < n {
		w := new(worker)
		all = append(all, w)
		go w.serve()
	}
	team.Store(&all)
}

func (w *worker) serve() {
	for {
		if r := w.next(); r.begin() {
			r.failed.Try(r.work)
			r.end()
		}
	}
}

func (w *worker) next() *run {
	start := time.Since(began)
	w.mail.Store(nothing)
	for now := start; now-start < patience && w.mail.Load() == nothing; {
		now = time.Since(began)
		w.seen.Store(int64(now))
	}
	if w.mail.CompareAndSwap(nothing, nil) {
		return <-asleep
	}
	return w.mail.Load()
}

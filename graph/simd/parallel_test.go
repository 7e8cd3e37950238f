package simd

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// tally counts how often each block runs, and how many run at once.
type tally struct {
	runs       []atomic.Int32
	busy, most atomic.Int32
	inner      *tally
}

func (c *tally) Block(i int) {
	if n := c.busy.Add(1); n > c.most.Load() {
		c.most.Store(n)
	}
	c.runs[i].Add(1)
	if c.inner != nil {
		Run(len(c.inner.runs), c.inner)
	}
	runtime.Gosched()
	c.busy.Add(-1)
}

func TestRunRunsEachBlockOnce(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	for _, n := range []int{0, 1, 2, 7, 1000} {
		c := &tally{runs: make([]atomic.Int32, n), inner: &tally{runs: make([]atomic.Int32, 5)}}
		Run(n, c)
		for i := range c.runs {
			if k := c.runs[i].Load(); k != 1 {
				t.Errorf("block %d of %d runs %d times", i, n, k)
			}
		}
		for i := range c.inner.runs {
			if k := c.inner.runs[i].Load(); int(k) != n {
				t.Errorf("inner block %d runs %d times in %d calls", i, k, n)
			}
		}
	}
}

// TestRunSideBySide: workers that come late to one run meet others in its memory.
func TestRunSideBySide(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	var callers sync.WaitGroup
	for range 6 {
		callers.Go(func() {
			for n := range 500 {
				c := &tally{runs: make([]atomic.Int32, n%5)}
				Run(n%5, c)
				for i := range c.runs {
					if k := c.runs[i].Load(); k != 1 {
						t.Errorf("block %d of %d runs %d times by the end", i, n%5, k)
					}
				}
			}
		})
	}
	callers.Wait()
}

func TestSetThreads(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	defer SetThreads(0)
	if Threads() != 4 {
		t.Errorf("%d threads without a limit", Threads())
	}
	for _, limit := range []int{1, 2} {
		SetThreads(limit)
		c := &tally{runs: make([]atomic.Int32, 1000)}
		Run(1000, c)
		if most := int(c.most.Load()); most > limit || Threads() != limit {
			t.Errorf("limit %d: %d blocks at once, %d threads", limit, most, Threads())
		}
	}
	SetThreads(100)
	if Threads() != 4 {
		t.Errorf("%d threads, more than GOMAXPROCS", Threads())
	}
}

// TestAbreast: goroutines that compute side by side share the threads, one at least for each.
func TestAbreast(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	want := []int{4, 2, 1, 1, 1}
	var done []func()
	for _, threads := range want {
		done = append(done, Abreast())
		if Threads() != threads {
			t.Errorf("%d threads for each of %d", Threads(), len(done))
		}
	}
	for i := len(want) - 1; i > 0; i-- {
		done[i]()
		if Threads() != want[i-1] {
			t.Errorf("%d threads for each of %d that are left", Threads(), i)
		}
	}
	done[0]()
	if Threads() != 4 {
		t.Errorf("%d threads once all are done", Threads())
	}
}

func TestRunAllocatesNothing(t *testing.T) {
	c := &tally{runs: make([]atomic.Int32, 8)}
	if n := testing.AllocsPerRun(100, func() { Run(8, c) }); n >= 1 && !poolsAllocate { // a pool may be emptied in between
		t.Errorf("%g allocations", n)
	}
}

// broken is work of which one block panics.
type broken struct{ at int }

func (b broken) Block(i int) {
	runtime.Gosched()
	if i == b.at {
		panic("simd: a broken block")
	}
}

// TestRunPanics where it is called, on whatever thread the block was, and works afterwards.
func TestRunPanics(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	for at := range 50 {
		func() {
			defer func() {
				if p := recover(); p == nil || !strings.Contains(fmt.Sprint(p), "a broken block") {
					t.Errorf("block %d of 50 panics with %v", at, p)
				}
			}()
			Run(50, broken{at})
		}()
	}
	c := &tally{runs: make([]atomic.Int32, 1000)}
	Run(1000, c)
	for i := range c.runs {
		if k := c.runs[i].Load(); k != 1 {
			t.Errorf("afterwards block %d runs %d times", i, k)
		}
	}
}

// squares is work for ExampleRun.
type squares []int

func (s squares) Block(i int) { s[i] = i * i }

func ExampleRun() {
	s := make(squares, 5)
	Run(len(s), s)
	fmt.Println(s)
	// Output: [0 1 4 9 16]
}

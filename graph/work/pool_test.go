package work

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"calibra/graph/work/worktest"
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

func TestRunAllocatesNothing(t *testing.T) {
	c := &tally{runs: make([]atomic.Int32, 8)}
	if n := testing.AllocsPerRun(100, func() { Run(8, c) }); n >= 1 && !worktest.PoolsAllocate { // a pool may be emptied in between
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

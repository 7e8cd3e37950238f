package work

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sourcegraph/conc/panics"
)

// Panic is a panic of another goroutine, with the place where it began.
type Panic = panics.Recovered

// Parts are N parts of a computation, each of a millisecond or more, such as fits to folds.
type Parts struct {
	N      int
	What   string    // part k reports as "What k of N"; "": it has no name
	Costs  []float64 // N, the times of the parts in any unit, for progress; nil: they take alike
	AtOnce int       // how many go on at once; 0: [Threads]
}

// Do does part 0 … part N−1, which begin in this order, and returns when all that have begun have ended. The first
// error is returned; it cancels the context of the others, and no more begin. So does a panic, which goes on here.
func (p Parts) Do(ctx context.Context, part func(ctx context.Context, k int) error) error {
	return p.With(ctx, func() func(context.Context, int) error { return part })
}

// With is Do by workers, one for each goroutine, which may have memory of their own. The workers are made here, one
// after another.
func (p Parts) With(ctx context.Context, newWorker func() func(ctx context.Context, k int) error) error {
	ctx = orBackground(ctx)
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		next   atomic.Int64
		first  sync.Once
		failed error
		caught panics.Catcher
		wait   sync.WaitGroup
	)
	at := p.reported(ctx)
	take := func(part func(context.Context, int) error) {
		defer computing.Add(-1)
		caught.Try(func() {
			for k := int(next.Add(1)) - 1; k < p.N && within.Err() == nil; k = int(next.Add(1)) - 1 {
				if err := part(at.context(within, k), k); err != nil {
					first.Do(func() { failed = err })
					cancel()
					return
				}
				at.ended(k)
			}
		})
		if caught.Recovered() != nil {
			cancel()
		}
	}
	workers := max(1, min(p.N, cmp.Or(p.AtOnce, Threads())))
	computing.Add(int64(workers) - 1) // the caller's place is the first worker's
	for range workers - 1 {
		part := newWorker()
		wait.Go(func() { take(part) })
	}
	take(newWorker())
	wait.Wait()
	computing.Add(1)
	caught.Repanic()
	return cmp.Or(failed, ctx.Err())
}

// Beat calls do again and again, so long apart, until stop is called, which waits for the last call.
func Beat(apart time.Duration, do func()) (stop func()) {
	var (
		ended  = make(chan struct{})
		caught panics.Catcher
		wait   sync.WaitGroup
	)
	wait.Go(func() {
		beat := time.NewTicker(apart)
		defer beat.Stop()
		for caught.Recovered() == nil {
			select {
			case <-beat.C:
				caught.Try(do)
			case <-ended:
				return
			}
		}
	})
	return func() {
		close(ended)
		wait.Wait()
		caught.Repanic()
	}
}

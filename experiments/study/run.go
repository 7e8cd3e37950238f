package study

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"calibra/data"
	"calibra/experiments/program"
	"calibra/experiments/report/tensorboard"
	"calibra/experiments/source"
	"calibra/graph/work"
)

// workshop holds what cells share. Cells begin in an order that keeps together those which share something, so that
// what was used last is enough.
type workshop struct {
	store Store
	board *tensorboard.Board
	mu    sync.Mutex
	made  []held // what was used last at the end
}

// held is a value that the first who needs it makes.
type held struct {
	key  string
	once any // of take
}

// mostMade are the problem and the split of some cells, and those of the next.
const mostMade = 4

// take is the value that key stands for.
func take[T any](w *workshop, key string, make func() (T, error)) (T, error) {
	w.mu.Lock()
	one := held{key, sync.OnceValues(make)}
	if at := slices.IndexFunc(w.made, func(h held) bool { return h.key == key }); at >= 0 {
		one = w.made[at]
		w.made = slices.Delete(w.made, at, at+1)
	}
	w.made = append(w.made, one)
	w.made = slices.Delete(w.made, 0, max(0, len(w.made)-mostMade))
	w.mu.Unlock()
	return one.once.(func() (T, error))()
}

func problemKey(c Cell) string {
	key := c.Spec.Data + "/" + c.Origin.Digest + "/" + c.Spec.Encoder
	if c.Origin.Seeded() {
		key += fmt.Sprintf("/%d", c.Spec.Seed)
	}
	if c.Spec.Shift == source.RegionShift { // whose problem is another
		key += "/" + string(c.Spec.Shift)
	}
	return key
}

func preparedKey(c Cell) string {
	return fmt.Sprintf("split %s/%d/%s", problemKey(c), c.Spec.Seed, c.Spec.Judged())
}

// compute runs one cell and keeps its result. A panic is that cell's failure.
func (w *workshop) compute(ctx context.Context, c Cell) (r *Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			r, err = nil, program.Caught(p)
		}
	}()
	if r, _, err = w.store.find(c); r != nil || err != nil { // by another process
		return r, err
	}
	if r, err = c.compute(ctx, w); err != nil {
		return nil, err
	}
	r.Program, r.Code = w.store.Program, c.Code
	return r, w.store.write(c, r)
}

// compute fits and judges the cell's method.
func (c Cell) compute(ctx context.Context, w *workshop) (*Result, error) {
	if c.Spec.Judging.Folds > 0 {
		return c.crossFitted(ctx, w)
	}
	trained := c.training / (c.training + c.Cost)
	prepared, err := prepare(work.Span(ctx, "", 0, trained), w, c, c.Spec.Prepare)
	if err != nil {
		return nil, err
	}
	ctx = work.Span(ctx, "", trained, 1)
	start := time.Now()
	board, err := w.board.Begin(c.String() + " " + c.Key[:6])
	if err != nil {
		return nil, err
	}
	run, err := c.Spec.FitPrepared(ctx, prepared, board.Observer())
	if err != nil {
		return nil, err
	}
	if err := board.Fitted(run); err != nil {
		return nil, err
	}
	r, err := newResult(ctx, run)
	if err != nil {
		return nil, err
	}
	r.Rows = rowNumbers(run.Source.Test, c.Origin)
	if counted := run.Outcome.Metrics.Counted; counted != nil && r.Rows != nil {
		r.Rows = data.Each(counted, func(i int) int { return r.Rows[i] })
	}
	r.Time = time.Since(start).Seconds()
	return r, nil
}

// rowNumbers are those of the test rows in what all seeds split: all of it where each
// seed has the same test rows, none where each draws its own.
func rowNumbers(test *data.Set, o *source.Origin) []int {
	if test.Numbers != nil || o.Seeded() {
		return test.Numbers
	}
	return data.UpTo(test.Len())
}

// prepare is what the cells of one split share, made of the cell's problem.
func prepare[T any](ctx context.Context, w *workshop, c Cell, make func(*source.Problem) (T, error)) (T, error) {
	return take(w, preparedKey(c), func() (none T, err error) {
		problem, err := take(w, problemKey(c), func() (*source.Problem, error) {
			return c.Origin.Load(ctx, c.Spec.Seed, c.Spec.Encoder, c.Spec.Shift)
		})
		if err != nil {
			return none, err
		}
		return make(problem)
	})
}

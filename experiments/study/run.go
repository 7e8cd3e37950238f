package study

import (
	"context"
	"fmt"
	"sync"
	"time"

	"calibra/data"
	"calibra/experiments"
	"calibra/experiments/program"
	"calibra/experiments/report/tensorboard"
)

// workshop holds what cells share, as long as one still needs it.
type workshop struct {
	store Store
	board *tensorboard.Board
	mu    sync.Mutex
	made  map[string]*shared
}

// shared is a value made by the first who needs it and dropped by the last.
type shared struct {
	once  sync.Once
	value any
	err   error
	users int
}

func newWorkshop(st Store, board *tensorboard.Board) *workshop {
	return &workshop{store: st, board: board, made: map[string]*shared{}}
}

func problemKey(c Cell) string {
	key := c.Spec.Data + "/" + c.Origin.Digest + "/" + c.Spec.Encoder
	if c.Origin.Seeded() {
		key += fmt.Sprintf("/%d", c.Spec.Seed)
	}
	if c.Spec.Shift == experiments.RegionShift { // whose problem is another
		key += "/" + string(c.Spec.Shift)
	}
	return key
}

func preparedKey(c Cell) string {
	return fmt.Sprintf("split %s/%d/%s", problemKey(c), c.Spec.Seed, c.Spec.Judged())
}

// expect announces a cell.
func (w *workshop) expect(c Cell) {
	for _, key := range c.shares() {
		if w.made[key] == nil {
			w.made[key] = &shared{}
		}
		w.made[key].users++
	}
}

// take gives the value that key stands for; release gives it back.
func take[T any](w *workshop, key string, make func() (T, error)) (value T, release func(), err error) {
	w.mu.Lock()
	s := w.made[key]
	w.mu.Unlock()
	s.once.Do(func() {
		s.err = fmt.Errorf("what it shares with other cells could not be made") // should make panic
		s.value, s.err = make()
	})
	value, _ = s.value.(T)
	return value, func() { w.drop(key) }, s.err
}

// drop records that one who announced it needs the value no more.
func (w *workshop) drop(key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.made[key].users--; w.made[key].users == 0 {
		delete(w.made, key)
	}
}

// compute runs one cell and keeps its result. A panic is that cell's failure.
func (w *workshop) compute(ctx context.Context, c Cell) (r *Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			r, err = nil, program.Caught(p)
		}
	}()
	if r, _, err = w.store.find(c); r != nil || err != nil { // by another process
		for _, key := range c.shares() {
			w.drop(key)
		}
		return r, err
	}
	if r, err = c.compute(ctx, w); err != nil {
		return nil, err
	}
	r.Program = w.store.Program
	return r, w.store.write(c, r)
}

// compute fits and judges the cell's method.
func (c Cell) compute(ctx context.Context, w *workshop) (*Result, error) {
	if c.Spec.Judging.Folds > 0 {
		return c.crossFitted(ctx, w)
	}
	prepared, err := prepare(ctx, w, c, c.Spec.Prepare)
	if err != nil {
		return nil, err
	}
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
func rowNumbers(test *data.Set, o *experiments.Origin) []int {
	if test.Numbers != nil || o.Seeded() {
		return test.Numbers
	}
	return data.UpTo(test.Len())
}

// prepare is what the cells of one split share, made of the cell's problem.
func prepare[T any](ctx context.Context, w *workshop, c Cell, make func(*experiments.Problem) (T, error)) (T, error) {
	problem, releaseProblem, problemErr := take(w, problemKey(c), func() (*experiments.Problem, error) {
		return w.store.problem(ctx, c)
	})
	defer releaseProblem()
	prepared, release, err := take(w, preparedKey(c), func() (none T, err error) {
		if problemErr != nil {
			return none, problemErr
		}
		return make(problem)
	})
	defer release()
	return prepared, err
}

package study

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"calibra/data"
	"calibra/experiments"
	"calibra/graph/simd"
)

// Failure is a cell that could not be computed.
type Failure struct {
	Cell Cell
	Err  error
}

// Load reads the results that dir has of the cells, nil for those it has not.
func Load(dir string, cells []Cell) ([]*Result, error) {
	results := make([]*Result, len(cells))
	for i, c := range cells {
		var err error
		if results[i], err = c.read(dir); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// Jobs is how many cells run side by side: n, or one a core if n is 0.
func Jobs(n int) int {
	if n <= 0 {
		return runtime.GOMAXPROCS(0)
	}
	return n
}

// Run computes the cells that dir lacks, jobs at a time (0 means one a core), and
// returns all results in the order of the cells. A cell that fails leaves a nil
// there and does not stop the others. observe is told of each cell that ends.
//
// If ctx is cancelled, the cells that ended stay in dir and the error wraps
// ctx.Err().
func Run(ctx context.Context, dir string, cells []Cell, jobs int, observe func(Cell)) ([]*Result, []Failure, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, nil, data.Inputf("", "the directory %s of the cells cannot be made: %w", dir, err)
	}
	results, err := Load(dir, cells)
	if err != nil {
		return nil, nil, err
	}
	jobs = Jobs(jobs)
	if jobs > 1 {
		simd.SetThreads(1)
		defer simd.SetThreads(0)
	}
	shop := newWorkshop()
	var todo []int
	for i, c := range cells {
		if results[i] == nil {
			todo = append(todo, i)
			shop.expect(c)
		}
	}
	var (
		mu     sync.Mutex
		failed []Failure
		wait   sync.WaitGroup
	)
	next := make(chan int)
	for range jobs {
		wait.Go(func() {
			for i := range next {
				r, err := shop.compute(ctx, dir, cells[i])
				mu.Lock()
				if results[i] = r; err != nil && ctx.Err() == nil {
					failed = append(failed, Failure{cells[i], err})
				}
				if ctx.Err() == nil && observe != nil {
					observe(cells[i])
				}
				mu.Unlock()
			}
		})
	}
	for _, i := range todo {
		select {
		case next <- i:
			continue
		case <-ctx.Done():
		}
		break
	}
	close(next)
	wait.Wait()
	if err := ctx.Err(); err != nil {
		return results, failed, fmt.Errorf("the cells that ended are kept, the same command goes on with the others: %w", err)
	}
	return results, failed, nil
}

// workshop holds what cells share, as long as one still needs it.
type workshop struct {
	mu       sync.Mutex
	problems map[string]*shared[*experiments.Problem]
	prepared map[string]*shared[*experiments.Prepared]
}

// shared is a value made by the first who needs it and dropped by the last.
type shared[T any] struct {
	once  sync.Once
	value T
	err   error
	users int
}

func newWorkshop() *workshop {
	return &workshop{problems: map[string]*shared[*experiments.Problem]{}, prepared: map[string]*shared[*experiments.Prepared]{}}
}

func problemKey(c Cell) string {
	key := c.Data + "/" + c.Origin.Digest + "/" + c.Encoder
	if c.Origin.Seeded() {
		key += fmt.Sprintf("/%d", c.Seed)
	}
	return key
}

func preparedKey(c Cell) string { return fmt.Sprintf("%s/%d/%s", problemKey(c), c.Seed, c.Split) }

// expect announces a cell.
func (w *workshop) expect(c Cell) {
	if w.problems[problemKey(c)] == nil {
		w.problems[problemKey(c)] = &shared[*experiments.Problem]{}
	}
	if w.prepared[preparedKey(c)] == nil {
		w.prepared[preparedKey(c)] = &shared[*experiments.Prepared]{}
	}
	w.problems[problemKey(c)].users++
	w.prepared[preparedKey(c)].users++
}

// of takes the value that key stands for; release gives it back.
func of[T any](w *workshop, all map[string]*shared[T], key string, make func() (T, error)) (value T, release func(), err error) {
	w.mu.Lock()
	s := all[key]
	w.mu.Unlock()
	s.once.Do(func() {
		s.err = fmt.Errorf("what it shares with other cells could not be made") // should make panic
		s.value, s.err = make()
	})
	return s.value, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if s.users--; s.users == 0 {
			delete(all, key)
		}
	}, s.err
}

// compute runs one cell and keeps its result. A panic is that cell's failure.
func (w *workshop) compute(ctx context.Context, dir string, c Cell) (r *Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			r, err = nil, fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	prepared, err := w.prepare(ctx, dir, c)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	run, err := c.run(ctx, dir, prepared)
	if err != nil {
		return nil, err
	}
	if r, err = newResult(ctx, run); err != nil {
		return nil, err
	}
	r.Rows = rowNumbers(run.Source.Test, c.Origin)
	r.Time = time.Since(start).Seconds()
	return r, c.write(dir, r, run.Model)
}

// rowNumbers are those of the test rows in what all seeds split: all of it where each
// seed has the same test rows, none where each draws its own.
func rowNumbers(test *data.Set, o *experiments.Origin) []int {
	if test.Numbers != nil || o.Seeded() {
		return test.Numbers
	}
	numbers := make([]int, test.Len())
	for i := range numbers {
		numbers[i] = i
	}
	return numbers
}

// run fits the cell's method. A cell that is judged on shifted rows takes the model
// of its twin in distribution, if dir has that.
func (c Cell) run(ctx context.Context, dir string, p *experiments.Prepared) (*experiments.Run, error) {
	if !c.Shifted {
		return c.FitPrepared(ctx, p, nil)
	}
	twin := c
	twin.Shifted = false
	twin.Key = key(twin.Spec, c.Origin.Digest)
	if _, err := os.Stat(twin.path(dir)); err != nil {
		return c.FitPrepared(ctx, p, nil)
	}
	model, _, err := experiments.LoadModel(twin.modelPath(dir))
	if err != nil {
		return nil, err
	}
	return c.Judge(ctx, p, model)
}

// prepare is the split problem of the cell.
func (w *workshop) prepare(ctx context.Context, dir string, c Cell) (*experiments.Prepared, error) {
	problem, releaseProblem, problemErr := of(w, w.problems, problemKey(c), func() (*experiments.Problem, error) {
		return loadProblem(ctx, dir, c)
	})
	defer releaseProblem()
	prepared, release, err := of(w, w.prepared, preparedKey(c), func() (*experiments.Prepared, error) {
		if problemErr != nil {
			return nil, problemErr
		}
		return c.Prepare(problem)
	})
	defer release()
	if err != nil {
		return nil, err
	}
	own := *prepared
	if c.Fraction == 0 {
		own.Redraws = redraws // no study shows the noise floor along the calibration rows
	}
	return &own, nil
}

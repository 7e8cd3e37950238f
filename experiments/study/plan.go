package study

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"calibra/data"
	"calibra/data/disk"
	"calibra/experiments/report/tensorboard"
	"calibra/graph/work"
)

// Task is a cell of a plan, with what the store has of it. Its JSON is a line of calibra study --list. As an error it
// says why there is no result.
type Task struct {
	ID      string  `json:"id"`
	Method  string  `json:"method"`
	Data    string  `json:"data"`
	Seed    uint64  `json:"seed"`
	Done    bool    `json:"done"`
	Cell    string  `json:"cell"`              // in words
	Seconds float64 `json:"seconds,omitempty"` // it is expected to take on one core; 0: unknown

	Stale bool  `json:"-"` // the store has that of other code, and it is computed again, or accepted
	Err   error `json:"-"` // the fit failed, or the file is damaged

	cell   Cell
	result *Result // nil where it is to be computed
}

func (t *Task) Error() string { return fmt.Sprintf("%s: %v", t.Cell, t.Err) }
func (t *Task) Unwrap() error { return t.Err }

// Plan is the cells of a study with what a store has of them.
type Plan struct {
	Store Store
	Tasks []*Task
	Board *tensorboard.Board // of the cells that are computed
}

// NewPlan reads what the store has of the cells.
func NewPlan(st Store, cells []Cell) *Plan {
	return &Plan{Store: st, Tasks: data.Each(cells, func(c Cell) *Task {
		t := &Task{ID: c.Key, Method: c.Spec.Method, Data: c.Spec.Data, Seed: c.Spec.Seed, Cell: c.String(), Seconds: c.Cost, cell: c}
		t.result, t.Stale, t.Err = st.find(c)
		t.Done = t.result != nil
		return t
	})}
}

// those are the tasks of which is true.
func (p *Plan) those(is func(*Task) bool) (all []*Task) {
	for _, t := range p.Tasks {
		if is(t) {
			all = append(all, t)
		}
	}
	return all
}

// Failures are the cells that failed, and those whose files are damaged; nil if there are none.
func (p *Plan) Failures() []*Task {
	return p.those(func(t *Task) bool { return t.Err != nil })
}

// Computed is how many cells have a result.
func (p *Plan) Computed() int {
	return len(p.those(func(t *Task) bool { return t.result != nil }))
}

// todo are the cells that the store lacks, in the order in which they begin; of those of one problem the first waits
// for its network.
func (p *Plan) todo() []*Task {
	all := p.those(func(t *Task) bool { return t.result == nil && t.Err == nil })
	order(all)
	trained := map[string]bool{}
	for _, t := range all {
		if key := problemKey(t.cell); trained[key] {
			t.cell.training = 0
		} else {
			trained[key] = true
		}
	}
	return all
}

// Seconds are about what Run takes on one core.
func (p *Plan) Seconds() (all float64) {
	for _, t := range p.todo() {
		all += t.Seconds + t.cell.training
	}
	return all
}

// Run computes the cells that the store lacks, jobs at a time (0 means one a core). A cell that fails, or whose file is
// damaged, does not stop the others. Other processes may compute cells of the same store meanwhile; their results are
// taken from there.
//
// If ctx is cancelled, the cells that ended stay in the store and the error wraps
// ctx.Err(). If all cells failed, an empty directory is removed.
func (p *Plan) Run(ctx context.Context, jobs int) error {
	dir := p.Store.Dir
	if err := makeDir(dir); err != nil {
		return err
	}
	disk.Sweep(dir, func(name string) bool { // what killed studies left of their files
		return filepath.Ext(name) == ".json"
	})
	shop := &workshop{store: p.Store, board: p.Board}
	todo := p.todo()
	seconds := data.Each(todo, func(t *Task) float64 { return cmp.Or(t.Seconds, 1) + t.cell.training })
	err := work.Parts{What: "cell", N: len(todo), Costs: seconds, AtOnce: jobs}.Do(ctx, func(ctx context.Context, k int) error {
		t := todo[k]
		r, err := shop.compute(work.Span(ctx, t.Cell, 0, 1), t.cell)
		if t.result = r; !errors.Is(err, ctx.Err()) {
			t.Err = err
		}
		return nil
	})
	if n := len(p.Tasks); n > 0 && len(p.Failures()) == n {
		_ = disk.Remove(dir) // unless something is in it
	}
	if err != nil {
		return fmt.Errorf("the cells that ended are kept, the same command goes on with the others: %w", err)
	}
	return nil
}

// order sorts tasks: those that share something stay together and the longest
// goes first, lest a core be left with a long fit at the end.
func order(todo []*Task) {
	turn := map[string]int{}
	for _, t := range todo {
		if key := preparedKey(t.cell); turn[key] == 0 {
			turn[key] = len(turn) + 1
		}
	}
	slices.SortStableFunc(todo, func(a, b *Task) int {
		return cmp.Or(cmp.Compare(turn[preparedKey(a.cell)], turn[preparedKey(b.cell)]), cmp.Compare(b.Seconds, a.Seconds))
	})
}

// Share are the tasks of the i-th of n shares, i from 1, in their order. Every task is
// in one share, whoever computes it and whatever is done, so that n processes that know nothing of
// each other compute all. Shares take about the same time: the longest task goes first, each
// to the share that has the least.
func Share(tasks []*Task, i, n int) []*Task {
	cost := func(t *Task) int64 { return 1 + int64(1000*t.Seconds) } // whole milliseconds add up alike on every machine
	load, mine := make([]int64, n), map[*Task]bool{}
	for _, t := range slices.SortedStableFunc(slices.Values(tasks), func(a, b *Task) int { return cmp.Compare(cost(b), cost(a)) }) {
		least := slices.Index(load, slices.Min(load))
		load[least] += cost(t)
		mine[t] = least == i-1
	}
	return slices.DeleteFunc(slices.Clone(tasks), func(t *Task) bool { return !mine[t] })
}

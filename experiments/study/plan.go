package study

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"calibra/data/disk"
	"calibra/experiments/program"
	"calibra/experiments/report/tensorboard"
)

// Failure is a cell that could not be computed, or whose file is damaged.
type Failure struct {
	Task
	Err error
}

func (f Failure) Error() string { return fmt.Sprintf("%s: %v", f.Cell, f.Err) }
func (f Failure) Unwrap() error { return f.Err }

// Plan is the cells of a study with what a store has of them.
type Plan struct {
	Store Store
	Tasks []Task             // the cells, as they are dealt out
	Stale []Task             // those of another program, which are computed again
	Board *tensorboard.Board // of the cells that are computed

	cells   []Cell
	results []*Result // of each cell, nil where it is to be computed
	errs    []error   // of each cell that failed or whose file is damaged
}

// NewPlan reads what the store has of the cells.
func NewPlan(st Store, cells []Cell) *Plan {
	n := len(cells)
	p := &Plan{Store: st, Tasks: make([]Task, n), cells: cells, results: make([]*Result, n), errs: make([]error, n)}
	for i, c := range cells {
		r, stale, err := st.find(c)
		p.results[i], p.errs[i], p.Tasks[i] = r, err, c.task()
		p.Tasks[i].Done = r != nil
		if stale {
			p.Stale = append(p.Stale, p.Tasks[i])
		}
	}
	return p
}

// Part is the plan of the cells at these places alone.
func (p *Plan) Part(places []int) *Plan {
	part := &Plan{Store: p.Store, Board: p.Board}
	for _, i := range places {
		part.Tasks, part.cells = append(part.Tasks, p.Tasks[i]), append(part.cells, p.cells[i])
		part.results, part.errs = append(part.results, p.results[i]), append(part.errs, p.errs[i])
	}
	return part
}

// Failures are the cells that failed, and those whose files are damaged.
func (p *Plan) Failures() (all []Failure) {
	for i, err := range p.errs {
		if err != nil {
			all = append(all, Failure{p.Tasks[i], err})
		}
	}
	return all
}

// Computed is how many cells have a result.
func (p *Plan) Computed() int { return len(p.results) - p.Left() }

// Left is how many cells have no result.
func (p *Plan) Left() (n int) {
	for _, r := range p.results {
		if r == nil {
			n++
		}
	}
	return n
}

// Run computes the cells that the store lacks, jobs at a time (0 means one a core). A cell
// that fails, or whose file is damaged, does not stop the others. observe is told of each cell
// that ends, and may be nil. Other processes may compute cells of the same store meanwhile; what they have
// done is taken from there.
//
// If ctx is cancelled, the cells that ended stay in the store and the error wraps
// ctx.Err(). Where all cells failed, a directory that is empty is removed; a process that has
// something to keep makes it again.
func (p *Plan) Run(ctx context.Context, jobs int, observe func(Task)) error {
	dir := p.Store.Dir
	if err := makeDir(dir); err != nil {
		return err
	}
	disk.Sweep(dir, func(name string) bool { // what killed studies left of their files
		return slices.Contains([]string{".json", ".safetensors", ".npz"}, filepath.Ext(name))
	})
	shop := newWorkshop(p.Store, p.Board)
	var todo []int
	for i, c := range p.cells {
		if p.results[i] == nil && p.errs[i] == nil {
			todo = append(todo, i)
			shop.expect(c)
		}
	}
	p.order(todo)
	err := program.SideBySide(ctx, len(todo), jobs, func(k int) {
		i := todo[k]
		r, err := shop.compute(ctx, p.cells[i])
		if p.results[i] = r; !errors.Is(err, ctx.Err()) {
			p.errs[i] = err
		}
	}, func(k int) {
		if observe != nil {
			observe(p.Tasks[todo[k]])
		}
	})
	if n := len(p.cells); n > 0 && len(p.Failures()) == n {
		_ = disk.Remove(dir) // unless something is in it
	}
	if err != nil {
		return fmt.Errorf("the cells that ended are kept, the same command goes on with the others: %w", err)
	}
	return nil
}

// order sorts the places of cells: those that share something stay together and the longest
// goes first, lest a core be left with a long fit at the end. Those that are judged on shifted
// rows go last, as they take the models of the others.
func (p *Plan) order(todo []int) {
	turn := map[string]int{}
	beside := make([]string, len(p.cells))
	for _, i := range todo {
		beside[i] = preparedKey(p.cells[i])
		if turn[beside[i]] == 0 {
			turn[beside[i]] = len(turn) + 1
		}
	}
	slices.SortStableFunc(todo, func(i, j int) int {
		a, b := p.Tasks[i], p.Tasks[j]
		return cmp.Or(cmp.Compare(turn[beside[i]], turn[beside[j]]), cmp.Compare(a.shift, b.shift), cmp.Compare(b.Seconds, a.Seconds)) // no shift is the least
	})
}

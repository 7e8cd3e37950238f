package cuda

import (
	"calibra/graph"

	"gorgonia.org/tensor"
)

// Stages is an executor of the same device for a fit in stages: it keeps tables and weights on the
// device from one session to the next, so that each travels there once. What it keeps is a copy of
// what is in memory: where a session has too little room it is dropped.
func (e *Executor) Stages() (stages graph.Executor, end func()) {
	r := &Executor{device: e.device, worth: e.worth, falls: e.falls, notices: e.notices, kept: map[*tensor.Dense]Memory{}}
	e.device.Lock()
	defer e.device.Unlock()
	e.device.stages[r] = true
	return r, r.end
}

// Tables is [graph.Function.Tables]. Where work before left what the outputs need, they are computed
// there, and stay there too.
func (e *Executor) Tables(f *graph.Function, n, size int) (tables []*tensor.Dense, err error) {
	if n == 0 || f.Weights().Dtype() != tensor.Float32 {
		return f.Tables(n, size)
	}
	sizes, err := compiled(f.Program, n, size)
	if err != nil {
		return nil, err
	}
	err = e.withRoom(func() error {
		if len(e.kept) == 0 { // the work is not here
			return nil
		}
		tables, err = e.compute(sizes, n, size)
		return err
	})
	if OutOfMemory(err) || err == nil && tables == nil {
		return f.Tables(n, size)
	}
	return tables, err
}

func (e *Executor) compute(sizes map[int]*graph.Program, n, size int) ([]*tensor.Dense, error) {
	d, a := e.device, newArrays(e)
	defer a.free()
	tables := sizes[min(size, n)].NewOutputs(n)
	for _, t := range tables {
		m := d.Alloc(t.DataSize())
		if err := d.Err(); err != nil {
			return nil, err
		}
		a.at[t] = m
	}
	for lo := 0; lo < n; lo += size {
		hi := min(lo+size, n)
		l, err := a.load(sizes[hi-lo])
		if err != nil {
			return nil, err
		}
		l.runRows(d, graph.Rows(lo, hi))
		for i, t := range tables {
			width := 4 * t.DataSize() / n
			d.Copy(a.at[t].Slice(lo*width, (hi-lo)*width), l.outputs[i].Memory)
		}
	}
	for _, t := range tables {
		download(d, t, a.at[t])
	}
	if d.Err() != nil { // what is there may be anything
		for _, t := range tables {
			a.drop(t)
		}
	}
	return tables, d.Err()
}

// compiled are the programs of n rows in batches of size, by their number of rows.
func compiled(of func(rows int) (*graph.Program, error), n, size int) (map[int]*graph.Program, error) {
	programs := map[int]*graph.Program{}
	for _, rows := range []int{min(size, n), n % size} {
		if rows == 0 || programs[rows] != nil {
			continue
		}
		p, err := of(rows)
		if err != nil {
			return nil, err
		}
		programs[rows] = p
	}
	return programs, nil
}

// dropKept frees what is kept now and reports whether that was anything.
func (e *Executor) dropKept() bool {
	some := len(e.kept) > 0
	for _, m := range e.kept {
		e.device.Free(m)
	}
	clear(e.kept)
	return some
}

// end frees what is kept and lets nothing be kept from now on.
func (e *Executor) end() {
	e.device.Lock()
	defer e.device.Unlock()
	e.dropKept()
	e.kept = nil
	delete(e.device.stages, e)
}

package graph

import (
	"fmt"
	"sync"

	"calibra/graph/cuda"

	"gorgonia.org/tensor"
)

// Residence keeps tables and weights on a device from one session of a fit in stages to
// the next, so that each travels there once. What it keeps is a copy of what is in memory:
// where a session has too little room it is dropped. A residence serves one fit at a time.
type Residence struct {
	device *cuda.Device                  // nil before a session has left something
	arrays map[*tensor.Dense]cuda.Memory // under the device's lock
}

// residences are those that tables and weights may stay in, by *tensor.Dense.
var residences sync.Map

// NewResidence is one for the given tables.
func NewResidence(tables ...*tensor.Dense) *Residence {
	r := &Residence{arrays: map[*tensor.Dense]cuda.Memory{}}
	for _, t := range tables {
		residences.Store(t, r)
	}
	return r
}

// Admit lets weights stay too. They may be learned, but else must not change until Close.
func (r *Residence) Admit(w *Weights) {
	for _, t := range w.tensors {
		residences.Store(t, r)
	}
}

func residenceOf(t *tensor.Dense) *Residence {
	if r, in := residences.Load(t); in {
		return r.(*Residence)
	}
	return nil
}

// Close frees what is kept.
func (r *Residence) Close() {
	residences.Range(func(t, of any) bool {
		if of == r {
			residences.Delete(t)
		}
		return true
	})
	if r.device != nil {
		r.device.Lock()
		defer r.device.Unlock()
		r.empty()
	}
}

// empty frees what is kept now and tells whether that was anything.
func (r *Residence) empty() bool {
	some := len(r.arrays) > 0
	for _, m := range r.arrays {
		r.device.Free(m)
	}
	clear(r.arrays)
	return some
}

// withRoom runs start on a locked device, and where memory is too small once more without
// what residences keep there.
func withRoom(d *cuda.Device, start func() error) error {
	err := start()
	if !cuda.OutOfMemory(err) {
		return err
	}
	some := false
	residences.Range(func(_, r any) bool {
		if r := r.(*Residence); r.device == d {
			some = r.empty() || some
		}
		return true
	})
	if !some {
		return err
	}
	d.ClearError()
	return start()
}

// tables are the outputs of f for rows 0…n−1, computed where a session before left what f
// reads. They stay there and are in memory too. ran is false where the CPU is to do it.
func (r *Residence) tables(f *Function, n, size int) (tables []*tensor.Dense, ran bool, err error) {
	if r.device == nil || n == 0 {
		return nil, false, nil
	}
	d := r.device
	d.Lock()
	defer d.Unlock()
	err = withRoom(d, func() error {
		tables, err = r.compute(f, n, size)
		return err
	})
	if cuda.OutOfMemory(err) {
		d.ClearError()
		return nil, false, nil
	}
	return tables, err == nil && tables != nil, err
}

func (r *Residence) compute(f *Function, n, size int) ([]*tensor.Dense, error) {
	d, a := r.device, newDeviceArrays(r.device)
	defer a.free()
	var tables []*tensor.Dense
	programs := map[int]*deviceProgram{}
	for lo := 0; lo < n; lo += size {
		hi := min(lo+size, n)
		l, ok := programs[hi-lo]
		if !ok {
			host, err := f.compile(hi - lo)
			if err != nil || host.program.missing() != "" {
				return nil, err
			}
			if l, err = a.load(host.program, host.rows); err != nil {
				return nil, err
			}
			defer l.free(d)
			programs[hi-lo] = l
			if tables == nil {
				tables = wholes(host.program, n)
				for _, t := range tables {
					m := d.Alloc(t.DataSize())
					if err := d.Err(); err != nil {
						return nil, fmt.Errorf("graph: %w", err)
					}
					residences.Store(t, r)
					a.arrays[t] = m
				}
			}
		}
		cuda.Upload(d, l.rows.Memory, Rows(lo, hi))
		l.run(d)
		for i, t := range tables {
			width := 4 * t.DataSize() / n
			d.Copy(a.arrays[t].Slice(lo*width, (hi-lo)*width), l.outputs[i].Memory)
		}
	}
	for _, t := range tables {
		if t.Dtype() == tensor.Int32 {
			cuda.Download(d, t.Int32s(), a.arrays[t])
		} else {
			cuda.Download(d, t.Float32s(), a.arrays[t])
		}
	}
	if err := d.Err(); err != nil {
		return nil, fmt.Errorf("graph: %w", err)
	}
	return tables, nil
}

// deviceArrays are the tables and weights that a piece of work has on a device it locked.
type deviceArrays struct {
	device *cuda.Device
	arrays map[*tensor.Dense]cuda.Memory
}

func newDeviceArrays(d *cuda.Device) *deviceArrays {
	return &deviceArrays{d, map[*tensor.Dense]cuda.Memory{}}
}

// resident is the memory of a table or weight, at the first call taken from its residence
// or uploaded.
func (a *deviceArrays) resident(t *tensor.Dense) cuda.Memory {
	if m, ok := a.arrays[t]; ok {
		return m
	}
	if r := residenceOf(t); r != nil && r.device == a.device {
		if m, ok := r.arrays[t]; ok {
			delete(r.arrays, t)
			a.arrays[t] = m // also after an error, or nobody would free it
			return m
		}
	}
	var m cuda.Memory
	if t.Dtype() == tensor.Int32 {
		m = cuda.Uploaded(a.device, t.Int32s())
	} else {
		m = cuda.Uploaded(a.device, t.Float32s())
	}
	if a.device.Err() != nil { // what is there may not be t
		a.device.Free(m)
		return cuda.Memory{}
	}
	a.arrays[t] = m
	return m
}

// drop frees the memory of a weight that is no longer what is in memory.
func (a *deviceArrays) drop(t *tensor.Dense) {
	a.device.Free(a.arrays[t])
	delete(a.arrays, t)
}

// free gives all of them to their residences, or back to the device.
func (a *deviceArrays) free() {
	for t, m := range a.arrays {
		r := residenceOf(t)
		if r == nil || r.device != nil && r.device != a.device {
			a.device.Free(m)
			continue
		}
		r.device, r.arrays[t] = a.device, m
	}
}

package cuda

import (
	"calibra/graph"
	"calibra/graph/op"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// arrays are the tables, weights and programs that a piece of work has on a device.
type arrays struct {
	*Executor
	at       map[*tensor.Dense]Memory
	programs map[*graph.Program]*program // those that were loaded
}

func newArrays(e *Executor) *arrays {
	return &arrays{e, map[*tensor.Dense]Memory{}, map[*graph.Program]*program{}}
}

// onDevice is the memory of a table or weight, at the first call uploaded.
func (a *arrays) onDevice(t *tensor.Dense) Memory {
	if m, ok := a.at[t]; ok {
		return m
	}
	m := a.device.Alloc(t.DataSize())
	upload(a.device, m, t)
	if a.device.Err() != nil { // what is there may not be t
		a.device.Free(m)
		return Memory{}
	}
	a.at[t] = m
	return m
}

// unload frees a program, if it was loaded.
func (a *arrays) unload(p *graph.Program) {
	if l, ok := a.programs[p]; ok {
		l.free(a.device)
		delete(a.programs, p)
	}
}

// free gives all back to the device.
func (a *arrays) free() {
	for p := range a.programs {
		a.unload(p)
	}
	for _, m := range a.at {
		a.device.Free(m)
	}
}

// upload and download copy all of a value of float32 or int32.

func upload(d *Device, m Memory, v gorgonia.Value) {
	if v.Dtype() == tensor.Int32 {
		Upload(d, m, op.Values[int32](v))
	} else {
		Upload(d, m, op.Values[float32](v))
	}
}

func download(d *Device, v gorgonia.Value, m Memory) {
	if v.Dtype() == tensor.Int32 {
		Download(d, op.Values[int32](v), m)
	} else {
		Download(d, op.Values[float32](v), m)
	}
}

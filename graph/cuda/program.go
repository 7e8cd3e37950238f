package cuda

import (
	"fmt"
	"slices"
	"strings"

	"calibra/graph"
	"calibra/graph/op"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// program is a [graph.Program] whose values lie on a device.
type program struct {
	taking   pieces // the rows of a step
	launches []func(*Device)
	outputs  []operand
	states   []Memory // weights that are updated,
	updates  []Memory // and by what
	rows     operand  // the row numbers of a run
	own      []Memory // what is the program's alone
	waits    bool     // whether a step is run by this process, so that a run cannot be recorded
}

// load lays p out on the device, at the first call. Tables and weights are uploaded once.
func (a *arrays) load(of *graph.Program) (*program, error) {
	if l, ok := a.programs[of]; ok {
		return l, nil
	}
	p, err := of.Elsewhere()
	if err != nil {
		return nil, err
	}
	d, l := a.device, &program{}
	operands, numbers := a.operands(p, l)
	var kept []Memory
	for _, i := range p.Outputs {
		l.outputs = append(l.outputs, operands[i])
		kept = append(kept, operands[i].Memory)
	}
	for _, u := range p.Updates {
		l.states, l.updates = append(l.states, a.onDevice(u.Weight)), append(l.updates, operands[u.Source].Memory)
	}
	var steps []step
	for _, s := range p.Steps {
		of := step{Op: s.Op, Out: operands[s.Output]}
		for _, k := range s.Inputs {
			of.In = append(of.In, operands[k])
		}
		if has(s.Op) {
			of.launch = bind(of.Op, of.Out, of.In)
		} else {
			of.launch = here(p, s, of)
			l.waits = true
		}
		steps = append(steps, of)
	}
	taken, steps := takings(steps, numbers)
	l.taking = d.newTaking(p.Rows.DataSize(), taken)
	l.launches = launchesOf(steps, append(kept, l.updates...))
	if err := d.Err(); err != nil {
		l.free(d)
		return nil, err
	}
	a.programs[of] = l
	return l, nil
}

// operands are where the values of p lie on the device. numbers is where steps read the numbers of
// the rows. What is made for p alone becomes l's.
func (a *arrays) operands(p *graph.Program, l *program) (operands []operand, numbers operand) {
	d := a.device
	operands = make([]operand, len(p.Values))
	for i, v := range p.Values {
		at := operand{Shape: v.Shape()}
		t, dense := v.(*tensor.Dense)
		switch {
		case dense && t == p.Rows, slices.ContainsFunc(p.Steps, func(s graph.Step) bool { return s.Output == i }):
			at.Memory = d.Alloc(at.Size())
			l.own = append(l.own, at.Memory)
		case dense:
			at.Memory = a.onDevice(t)
		default:
			at.Memory = Uploaded(d, []float32{float32(graph.Float64s(v)[0])})
			l.own = append(l.own, at.Memory)
		}
		if dense && t == p.Rows {
			l.rows = operand{Memory: d.Alloc(at.Size()), Shape: at.Shape}
			l.own = append(l.own, l.rows.Memory)
			numbers = at
		}
		operands[i] = at
	}
	return operands, numbers
}

// runRows enqueues all that p computes of rows, but its updates.
func (l *program) runRows(d *Device, rows []int32) {
	Upload(d, l.rows.Memory, rows)
	l.runStep(d, l.rows.Memory, cursor{}, 0)
}

// runStep does the same of the rows that order names at the cursor, in steps of batch.
func (l *program) runStep(d *Device, order Memory, at cursor, batch int) {
	d.takeRows(l.taking, order, at, batch)
	for _, launch := range l.launches {
		launch(d)
	}
}

func (l *program) free(d *Device) {
	l.taking.Free(d)
	d.Free(l.own...)
}

// here is what runs a step of p in this process, for want of a kernel: its inputs are downloaded and its output
// is uploaded.
func here(p *graph.Program, s graph.Step, at step) func(*Device) {
	like := func(i int) gorgonia.Value { return op.Zero(p.Values[i].Dtype(), p.Values[i].Shape()) }
	out := like(s.Output)
	var in []gorgonia.Value
	for _, k := range s.Inputs {
		in = append(in, like(k))
	}
	return func(d *Device) {
		for i, v := range in {
			download(d, v, at.In[i].Memory)
		}
		if d.err != nil {
			return
		}
		var err error
		if ours, is := s.Op.(op.Op); is {
			_, err = ours.UsePreallocDo(out, in...)
		} else {
			out, err = s.Op.Do(in...)
		}
		if err != nil {
			d.err = fmt.Errorf("cuda: %v: %w", s.Op, err)
			return
		}
		upload(d, at.Out.Memory, out)
	}
}

// without are the kinds of ops of p that devices have no row for.
func without(p *graph.Program) (names []string) {
	for _, s := range p.Steps {
		if name, _, _ := strings.Cut(s.Op.String(), "{"); !has(s.Op) && !slices.Contains(names, name) { // without its parameters, a seed among them
			names = append(names, name)
		}
	}
	return names
}

package graph

import (
	"fmt"
	"slices"
	"strings"

	"calibra/graph/cuda"
	"calibra/graph/op"

	"gorgonia.org/tensor"
)

// deviceProgram is a Program whose values lie on a device.
type deviceProgram struct {
	taking   cuda.Taking // the rows of a step
	launches []op.Launch
	averages cuda.Blending
	outputs  []op.Operand
	states   []cuda.Memory // weights that are updated,
	updates  []cuda.Memory // and by what
	rows     op.Operand    // the row numbers of a run
	own      []cuda.Memory // what is the program's alone
}

// missing names the first op of p that a device cannot run, or is empty.
func (p *Program) missing() string {
	for _, s := range p.steps {
		if !op.OnDevice(s.op) {
			name, _, _ := strings.Cut(s.op.String(), "{") // without its parameters, a seed among them
			return name
		}
	}
	return ""
}

// work is the multiplications and additions of a run of p.
func (p *Program) work() (flops float64) {
	for _, s := range p.steps {
		in := make([]tensor.Shape, len(s.inputs))
		for i, k := range s.inputs {
			in[i] = p.values[k].Shape()
		}
		flops += op.Work(s.op, p.values[s.output].Shape(), in)
	}
	return flops
}

// load lays p out on the device. Tables and weights are uploaded once; rows is the leaf
// that names the rows of a step.
func (a *deviceArrays) load(p *Program, rows *tensor.Dense) (*deviceProgram, error) {
	l := &deviceProgram{}
	var numbers op.Operand // of the rows, as steps read them
	operands := make([]op.Operand, len(p.values))
	for i, v := range p.values {
		at := op.Operand{Shape: v.Shape()}
		t, dense := v.(*tensor.Dense)
		switch {
		case dense && t == rows, p.computes(i):
			at.Memory = a.device.Alloc(at.Size())
			l.own = append(l.own, at.Memory)
		case dense:
			at.Memory = a.resident(t)
		default:
			at.Memory = cuda.Uploaded(a.device, []float32{float32(scalarOf(v))})
			l.own = append(l.own, at.Memory)
		}
		if dense && t == rows {
			l.rows = op.Operand{Memory: a.device.Alloc(at.Size()), Shape: at.Shape}
			l.own = append(l.own, l.rows.Memory)
			numbers = at
		}
		operands[i] = at
	}
	var kept []cuda.Memory
	for _, i := range p.outputs {
		l.outputs = append(l.outputs, operands[i])
		kept = append(kept, operands[i].Memory)
	}
	for _, u := range p.updates {
		l.states, l.updates = append(l.states, a.resident(u.weight)), append(l.updates, operands[u.source].Memory)
	}
	var steps []op.Step
	for _, step := range p.steps {
		in := make([]op.Operand, len(step.inputs))
		for j, k := range step.inputs {
			in[j] = operands[k]
		}
		steps = append(steps, op.Step{Op: step.op, Out: operands[step.output], In: in})
	}
	taken, steps := op.Taken(steps, numbers)
	l.taking = a.device.NewTaking(len(rows.Int32s()), taken)
	averaged, steps := op.Averaged(steps)
	l.averages = a.device.NewBlending(averaged)
	l.launches = op.Launches(steps, append(kept, l.updates...))
	if err := a.device.Err(); err != nil {
		l.free(a.device)
		return nil, fmt.Errorf("graph: %w", err)
	}
	return l, nil
}

// computes tells whether a step of p computes values[i].
func (p *Program) computes(i int) bool {
	return slices.ContainsFunc(p.steps, func(s instruction) bool { return s.output == i })
}

// run enqueues all that p computes of l.rows, but its updates.
func (l *deviceProgram) run(d *cuda.Device) { l.runStep(d, l.rows.Memory, cuda.Cursor{}, 0) }

// runStep does the same of the rows that order names at the cursor, in steps of batch.
func (l *deviceProgram) runStep(d *cuda.Device, order cuda.Memory, at cuda.Cursor, batch int) {
	d.TakeRows(l.taking, order, at, batch)
	for _, launch := range l.launches {
		launch.Enqueue(d)
	}
	d.BlendAll(l.averages)
}

func (l *deviceProgram) free(d *cuda.Device) {
	l.taking.Free(d)
	l.averages.Free(d)
	d.Free(l.own...)
}

package graph

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// compiled is one description of the rows of a step. Shapes are static in Gorgonia, so it is
// compiled once per batch size and kept.
type compiled struct {
	weights  *Weights
	describe func(*Builder) gorgonia.Nodes
	bySize   map[int]*Program
}

// Weights are those that the outputs depend on.
func (c *compiled) Weights() *Weights { return c.weights }

// Program is that of so many rows, compiled once.
func (c *compiled) Program(rows int) (p *Program, err error) {
	if p, ok := c.bySize[rows]; ok {
		return p, nil
	}
	b := NewBuilder(c.weights, rows)
	defer func() {
		if b.err != nil && recover() != nil { // of who went on with the nil nodes of a builder that failed
			err = b.err
		}
	}()
	defer Recover(&err)
	p, err = b.Compile(c.describe(b)...)
	if err == nil {
		c.bySize[rows] = p
	}
	return p, err
}

// run computes the outputs for the given rows, without the steps that again marks as done: those
// that depend on rows and tables alone.
func (c *compiled) run(rows []int32, again func(*Program) bool) (*Program, error) {
	p, err := c.Program(len(rows))
	if err != nil {
		return nil, err
	}
	from := again(p)
	copy(p.Rows.Int32s(), rows)
	return p, p.run(from)
}

// anew is an again by which nothing is done yet.
func anew(*Program) bool { return false }

// Function computes outputs of rows, without a gradient, compiled once per batch
// size. It is not safe for concurrent use.
type Function struct {
	compiled
	outputs []gorgonia.Value
}

// NewFunction compiles what describe builds: the outputs of the rows of a step.
func NewFunction(w *Weights, describe func(*Builder) gorgonia.Nodes) *Function {
	return &Function{compiled: compiled{w, describe, map[int]*Program{}}}
}

// Of computes the outputs for the given rows, valid until the next call.
func (f *Function) Of(rows []int32) ([]gorgonia.Value, error) {
	p, err := f.run(rows, anew)
	if err != nil {
		return nil, err
	}
	f.outputs = f.outputs[:0]
	for i := range p.Outputs {
		f.outputs = append(f.outputs, p.Output(i))
	}
	return f.outputs, nil
}

// Each runs f over rows 0…n−1 in batches of at most size and hands each batch's
// first row and outputs to visit.
func (f *Function) Each(n, size int, visit func(lo int, outputs []gorgonia.Value) error) error {
	for lo := 0; lo < n; lo += size {
		out, err := f.Of(Rows(lo, min(lo+size, n)))
		if err != nil {
			return err
		}
		if err := visit(lo, out); err != nil {
			return err
		}
	}
	return nil
}

// Tables are the outputs of rows 0…n−1, computed in batches of at most size: of an output
// whose first dimension is the batch, a tensor with n instead.
func (f *Function) Tables(n, size int) ([]*tensor.Dense, error) {
	if n == 0 {
		return nil, fmt.Errorf("graph: a table of no rows")
	}
	var tables []*tensor.Dense
	err := f.Each(n, size, func(lo int, out []gorgonia.Value) error {
		if tables == nil {
			tables = f.bySize[min(size, n)].NewOutputs(n)
		}
		for i, t := range tables {
			bytes := t.Uint8s() // the memory of any type
			copy(bytes[lo*(len(bytes)/n):], out[i].(*tensor.Dense).Uint8s())
		}
		return nil
	})
	return tables, err
}

// NewOutputs are tensors like p's outputs, of n rows.
func (p *Program) NewOutputs(n int) []*tensor.Dense {
	tables := make([]*tensor.Dense, len(p.Outputs))
	for i := range tables {
		v := p.Output(i)
		shape := v.Shape().Clone()
		shape[0] = n
		tables[i] = tensor.New(tensor.Of(v.Dtype()), tensor.WithShape(shape...))
	}
	return tables
}

// Mean is the mean over rows 0…n−1 of a function whose only output is the mean
// of its batch, such as a validation loss.
func (f *Function) Mean(n, size int) (float64, error) {
	if n == 0 {
		return 0, fmt.Errorf("graph: the mean over no rows")
	}
	var sum float64
	err := f.Each(n, size, func(lo int, out []gorgonia.Value) error {
		sum += scalarOf(out[0]) * float64(min(size, n-lo))
		return nil
	})
	return sum / float64(n), err
}

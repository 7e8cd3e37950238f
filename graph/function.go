package graph

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Function computes outputs of rows, without a gradient, compiled once per batch
// size. It is not safe for concurrent use.
type Function struct {
	weights  *Weights
	describe func(*Builder) gorgonia.Nodes
	bySize   map[int]*evaluation
}

type evaluation struct {
	program *Program
	rows    *tensor.Dense
	outputs []gorgonia.Value
}

// NewFunction compiles what describe builds: the outputs of the rows of a step.
func NewFunction(w *Weights, describe func(*Builder) gorgonia.Nodes) *Function {
	return &Function{w, describe, map[int]*evaluation{}}
}

// Of computes the outputs for the given rows, valid until the next call.
func (f *Function) Of(rows []int32) ([]gorgonia.Value, error) {
	if err := f.weights.Fetch(); err != nil {
		return nil, err
	}
	e, err := f.compile(len(rows))
	if err != nil {
		return nil, err
	}
	copy(e.rows.Int32s(), rows)
	if err := e.program.Run(); err != nil {
		return nil, err
	}
	for i := range e.outputs {
		e.outputs[i] = e.program.Output(i)
	}
	return e.outputs, nil
}

func (f *Function) compile(n int) (*evaluation, error) {
	if e, ok := f.bySize[n]; ok {
		return e, nil
	}
	b := NewBuilder(f.weights, n)
	nodes := f.describe(b)
	p, err := b.Compile(nodes...)
	if err != nil {
		return nil, err
	}
	e := &evaluation{p, b.batch, make([]gorgonia.Value, len(nodes))}
	f.bySize[n] = e
	return e, nil
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
// whose first dimension is the batch, a tensor with n instead. Where the weights are in a
// [Residence] that is on a device, the tables are computed there and stay there too.
func (f *Function) Tables(n, size int) ([]*tensor.Dense, error) {
	if n == 0 {
		return nil, fmt.Errorf("graph: a table of no rows")
	}
	for _, t := range f.weights.tensors {
		if r := residenceOf(t); r != nil {
			if tables, ran, err := r.tables(f, n, size); ran || err != nil {
				return tables, err
			}
			break
		}
	}
	var tables []*tensor.Dense
	err := f.Each(n, size, func(lo int, out []gorgonia.Value) error {
		if tables == nil {
			tables = wholes(f.bySize[min(size, n)].program, n)
		}
		for i, t := range tables {
			part := out[i].(*tensor.Dense)
			at := lo * (t.DataSize() / n)
			switch t.Dtype() {
			case tensor.Int32:
				copy(t.Int32s()[at:], part.Int32s())
			case tensor.Float32:
				copy(t.Float32s()[at:], part.Float32s())
			default:
				copy(t.Float64s()[at:], part.Float64s())
			}
		}
		return nil
	})
	return tables, err
}

// wholes are tensors like p's outputs, of n rows.
func wholes(p *Program, n int) []*tensor.Dense {
	tables := make([]*tensor.Dense, len(p.outputs))
	for i := range tables {
		v := p.Output(i)
		shape := v.Shape().Clone()
		shape[0] = n
		tables[i] = tensor.New(tensor.Of(v.Dtype()), tensor.WithShape(shape...))
	}
	return tables
}

// Mean is the mean over rows 0…n−1 of a function whose only output is the mean
// of its batch, such as a validation loss. Where the weights are in a [Session] it runs
// there.
func (f *Function) Mean(n, size int) (float64, error) {
	if s := sessionOf(f.weights); s != nil && n > 0 {
		if mean, ran, err := s.mean(f, n, size); ran || err != nil {
			return mean, err
		}
	}
	var sum float64
	err := f.Each(n, size, func(lo int, out []gorgonia.Value) error {
		sum += scalarOf(out[0]) * float64(min(size, n-lo))
		return nil
	})
	if n == 0 {
		return 0, fmt.Errorf("graph: the mean over no rows")
	}
	return sum / float64(n), err
}

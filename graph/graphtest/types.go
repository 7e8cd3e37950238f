package graphtest

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"

	"calibra/graph"
	"calibra/graph/op"

	"gonum.org/v1/gonum/floats"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Single is how far float32 may be from float64, relative to the largest entry of what is
// compared: float32 rounds each number by 6e-8 of itself, and a sum of a hundred products, or a
// function that is ten times as steep as its argument, is within this.
const Single = 2e-5

// Types compares a loss over rows 0…rows−1 and its gradient in float32, the type that trains,
// with those in float64, at weights that both types hold exactly. All memory that an op writes to
// is filled with NaN before (int32: the least number), so that an element that Run leaves as it
// was is an error that names the op. The loss makes its tables in the type of its builder.
func Types(w *graph.Weights, rows int, loss func(*graph.Builder) *gorgonia.Node) error {
	return values(w, rows, func(b *graph.Builder) gorgonia.Nodes {
		l := loss(b)
		return append(gorgonia.Nodes{l}, b.Gradient(l)...)
	})
}

// values compares all outputs that describe makes.
func values(w *graph.Weights, rows int, describe func(*graph.Builder) gorgonia.Nodes) error {
	rounded := w.As(tensor.Float32)
	want, err := outputs(rounded.As(tensor.Float64), rows, describe)
	if err != nil {
		return err
	}
	got, err := outputs(rounded, rows, describe)
	if err != nil {
		return err
	}
	var wrong []error
	for i := range want {
		size := floats.Norm(want[i].values, math.Inf(1))
		for k, v := range want[i].values {
			if d := math.Abs(got[i].values[k] - v); !(d <= Single*size) {
				wrong = append(wrong, fmt.Errorf("graphtest: entry %d of %s is %.7g in float32 and %.7g in float64", k, want[i].name, got[i].values[k], v))
			}
		}
	}
	return errors.Join(wrong...)
}

// output is one result of a program.
type output struct {
	name   string
	values []float64
}

// outputs runs what describe makes in the type of w, in memory that holds nothing usable.
func outputs(w *graph.Weights, rows int, describe func(*graph.Builder) gorgonia.Nodes) ([]output, error) {
	b := graph.NewBuilder(w, rows)
	nodes := describe(b)
	p, err := b.Compile(nodes...)
	if err != nil {
		return nil, err
	}
	copy(p.Rows.Int32s(), graph.Rows(0, rows))
	for _, s := range p.Steps {
		spoil(p.Values[s.Output])
	}
	if err := p.Run(); err != nil {
		return nil, err
	}
	for _, s := range p.Steps {
		if at := spoiled(p.Values[s.Output]); at >= 0 {
			return nil, fmt.Errorf("graphtest: %v leaves element %d of its %v result unwritten, or makes it NaN: Run must set every element", s.Op, at, p.Values[s.Output].Dtype())
		}
	}
	var all []output
	for i, n := range nodes {
		name := n.Name()
		if o, ok := n.Op().(op.Op); ok {
			name = o.String()
		}
		all = append(all, output{name, graph.Float64s(p.Output(i))})
	}
	for _, s := range p.Steps {
		if err := rowsAlone(p, s); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// rowsAlone checks that an op whose form says so computes each row by itself.
func rowsAlone(p *graph.Program, s graph.Step) error {
	o, ours := s.Op.(op.Op)
	if !ours || o.ByRow() == nil {
		return nil
	}
	var in []gorgonia.Value
	for _, value := range s.Inputs {
		in = append(in, p.Values[value])
	}
	is := p.Values[s.Output]
	together, alone := op.Zero(is.Dtype(), is.Shape()), op.Zero(is.Dtype(), is.Shape())
	if _, err := o.UsePreallocDo(together, in...); err != nil {
		return err
	}
	for row := range is.Shape()[0] {
		args := slices.Clone(in)
		for i, cut := range o.ByRow() {
			if cut {
				args[i] = op.NewRows(in[i], row, row+1)
			}
		}
		if _, err := o.UsePreallocDo(op.NewRows(alone, row, row+1), args...); err != nil {
			return err
		}
	}
	if !reflect.DeepEqual(together.Data(), alone.Data()) {
		return fmt.Errorf("graphtest: rows of %v are not the same by themselves: its form must not say by what", o)
	}
	return nil
}

// unwritten is what int32 memory is filled with.
const unwritten = math.MinInt32

func spoil(v gorgonia.Value) {
	switch v.Dtype() {
	case tensor.Int32:
		fill(op.Values[int32](v), unwritten)
	case tensor.Float32:
		fill(op.Values[float32](v), float32(math.NaN()))
	default:
		fill(op.Values[float64](v), math.NaN())
	}
}

func fill[T any](x []T, v T) {
	for i := range x {
		x[i] = v
	}
}

// spoiled is the first element that is as spoil left it, or −1.
func spoiled(v gorgonia.Value) int {
	if v.Dtype() == tensor.Int32 {
		return slices.Index(op.Values[int32](v), unwritten)
	}
	return slices.IndexFunc(graph.Float64s(v), math.IsNaN)
}

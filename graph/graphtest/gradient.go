// Package graphtest checks derivatives against finite differences, in tests or elsewhere. A check that finds nothing to
// check returns an error.
//
//	if err := graphtest.Gradient(w, 4, loss); err != nil {
//		t.Error(err)
//	}
package graphtest

import (
	"errors"
	"fmt"
	"math"

	"calibra/graph"
	"calibra/graph/op"

	"gonum.org/v1/gonum/floats"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Step is the relative step of the central differences: the cube root of
// float64's rounding error balances the O(h²) truncation against the O(ε/h)
// rounding.
const Step = 6e-6

// Tolerance is the largest error of a correct gradient, relative to the largest entry of
// its weight's gradient: both errors at Step are near 4e-11 times the loss's
// third derivative or value, and 1e-7 leaves room for losses of size 1000.
const Tolerance = 1e-7

// Gradient compares the gradient of loss by each learned weight of w, which must
// be float64, with central differences in every entry. The loss is over rows
// 0…rows−1. The error names every entry that is wrong, and before them each op of the loss whose
// own gradient is.
func Gradient(w *graph.Weights, rows int, loss func(*graph.Builder) *gorgonia.Node) error {
	err := compare(w, rows, loss)
	if err == nil || w == nil {
		return err
	}
	return errors.Join(append(culprits(w, rows, loss), err)...)
}

// culprits are errors of the ops of a loss that [Op] finds wrong at the values that they have in it.
func culprits(w *graph.Weights, rows int, loss func(*graph.Builder) *gorgonia.Node) (wrong []error) {
	b := graph.NewBuilder(w, rows)
	p, err := b.Compile(loss(b))
	if err != nil {
		return nil
	}
	copy(p.Rows.Int32s(), graph.Rows(0, rows))
	if p.Run() != nil {
		return nil
	}
	seen := map[string]bool{}
	for _, s := range p.Steps {
		o, ours := s.Op.(op.Op)
		var inputs []*tensor.Dense
		for _, at := range s.Inputs {
			if x, is := p.Values[at].(*tensor.Dense); is {
				inputs = append(inputs, x)
			}
		}
		if !ours || len(inputs) < len(s.Inputs) || seen[o.String()] {
			continue
		}
		if Op(o, inputs...) != nil {
			seen[o.String()] = true
			wrong = append(wrong, fmt.Errorf("graphtest: the gradient of %v is wrong by itself; check it with graphtest.Op", o))
		}
	}
	return wrong
}

// compare is Gradient without the ops.
func compare(w *graph.Weights, rows int, loss func(*graph.Builder) *gorgonia.Node) error {
	if w == nil || loss == nil || rows < 1 {
		return errors.New("graphtest: there are no weights, no loss or no rows to check")
	}
	if w.Dtype() != tensor.Float64 {
		return fmt.Errorf("graphtest: gradients are checked in float64, not %v", w.Dtype())
	}
	learned := w.Learned()
	if len(learned) == 0 {
		return errors.New("graphtest: there is no learned weight to check")
	}
	o := graph.NewObjective(w, loss)
	batch := graph.Rows(0, rows)
	_, got, err := o.Gradient(batch)
	if err != nil {
		return err
	}
	analytic := make([][]float64, len(got))
	for i, g := range got {
		analytic[i] = graph.Float64s(g)
	}
	var wrong []error
	for i, name := range learned {
		numeric, err := differences(o, batch, w.Tensor(name).Float64s())
		if err != nil {
			return err
		}
		size := floats.Norm(numeric, math.Inf(1))
		if size == 0 {
			wrong = append(wrong, fmt.Errorf("graphtest: the loss does not change with %s: nothing is checked", name))
		}
		for j, by := range numeric {
			if d := math.Abs(analytic[i][j] - by); !(d <= Tolerance*math.Max(size, 1e-3)) {
				wrong = append(wrong, fmt.Errorf("graphtest: ∂loss/∂%s[%d] is %.12g, central differences say %.12g", name, j, analytic[i][j], by))
			}
		}
	}
	return errors.Join(wrong...)
}

// differences are the central ones of the loss in each entry of x.
func differences(o *graph.Objective, batch []int32, x []float64) ([]float64, error) {
	var failed error
	value := func() float64 {
		l, _, err := o.Gradient(batch)
		failed = errors.Join(failed, err)
		return l
	}
	numeric := make([]float64, len(x))
	for j, at := range x {
		h := Step * math.Max(1, math.Abs(at))
		x[j] = at + h
		up := value()
		x[j] = at - h
		down := value()
		x[j] = at
		numeric[j] = (up - down) / (2 * h)
	}
	return numeric, failed
}

// Op checks an op at these values: its gradient by every input of float type, as [Gradient]
// does, and both of its types against each other, as [Types] does. An input of int32 stays as it
// is. An op without a derivative has its values checked alone.
func Op(o op.Op, inputs ...*tensor.Dense) error {
	if len(inputs) != o.Arity() {
		return fmt.Errorf("graphtest: %v takes %d inputs, got %d", o, o.Arity(), len(inputs))
	}
	w := graph.NewWeights(tensor.Float64)
	name := func(i int) string { return fmt.Sprintf("input %d", i) }
	for i, x := range inputs {
		switch {
		case x.Dtype() == tensor.Int32:
		case o.DiffWRT(len(inputs))[i]:
			w.Add(name(i), graph.Float64s(x), x.Shape()...)
		default:
			w.AddState(name(i), graph.Float64s(x), x.Shape()...)
		}
	}
	describe := func(b *graph.Builder) *gorgonia.Node {
		of := make([]*gorgonia.Node, len(inputs))
		for i, x := range inputs {
			if x.Dtype() == tensor.Int32 {
				of[i] = b.Table(name(i), x)
			} else {
				of[i] = b.Weight(name(i))
			}
		}
		return b.Apply(o, of...)
	}
	if err := values(w, 1, func(b *graph.Builder) gorgonia.Nodes { return gorgonia.Nodes{describe(b)} }); err != nil || len(w.Learned()) == 0 {
		return err
	}
	loss := func(b *graph.Builder) *gorgonia.Node { return Contract(b, describe(b)) }
	// The loss itself is left out: its terms are of both signs, and may cancel to less than what float32 rounds.
	if err := values(w, 1, func(b *graph.Builder) gorgonia.Nodes { return b.Gradient(loss(b)) }); err != nil {
		return err
	}
	return compare(w, 1, loss)
}

// Contract is Σ_k c_k y_k², or y itself if that is one number. The c_k are fixed, of both signs
// and none alike; by the square every op's gradient depends on its input.
func Contract(b *graph.Builder, y *gorgonia.Node) *gorgonia.Node {
	if b.Err() != nil || y.IsScalar() {
		return y
	}
	c := make([]float64, y.Shape().TotalSize())
	for k := range c {
		c[k] = math.Sin(float64(3*k + 1))
	}
	table := b.Table("contraction", graph.Tensor(b.Dtype(), c, y.Shape()...))
	return b.Apply(op.Sum(y.Dims()), b.Times(table, b.Times(y, y)))
}

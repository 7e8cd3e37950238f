package graph

import (
	"fmt"
	"slices"

	"calibra/graph/op"

	"gonum.org/v1/gonum/floats"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Objective is a mean loss over rows with its gradient by the learned weights, compiled once per
// batch size. It is not safe for concurrent use.
type Objective struct {
	compiled
	grads []*tensor.Dense
}

// NewObjective compiles what describe builds: the scalar mean loss over the rows
// of a step.
func NewObjective(w *Weights, describe func(*Builder) *gorgonia.Node) *Objective {
	withGradient := func(b *Builder) gorgonia.Nodes {
		loss := describe(b)
		if b.err == nil && !loss.IsScalar() {
			b.Fail(fmt.Errorf("graph: a loss is one number, not of shape %v", loss.Shape()))
		}
		return append(gorgonia.Nodes{loss}, b.Gradient(loss)...)
	}
	return &Objective{compiled: compiled{w, withGradient, map[int]*Program{}}}
}

// Gradient is the mean loss over the given rows and its gradient by each learned
// weight, in order, valid until the next call. Updates that the graph describes
// wait for Commit.
func (o *Objective) Gradient(rows []int32) (loss float64, grads []*tensor.Dense, err error) {
	return o.gradient(rows, anew)
}

func (o *Objective) gradient(rows []int32, again func(*Program) bool) (loss float64, grads []*tensor.Dense, err error) {
	p, err := o.run(rows, again)
	if err != nil {
		return 0, nil, err
	}
	o.grads = o.grads[:0]
	for i := range p.Outputs[1:] {
		o.grads = append(o.grads, p.Output(i+1).(*tensor.Dense))
	}
	return scalarOf(p.Output(0)), o.grads, nil
}

// Commit applies the updates of the last Gradient over that many rows.
func (o *Objective) Commit(rows int) error { return o.bySize[rows].Commit() }

// NonFinite names the first non-finite value of the last Gradient over that many
// rows, or is empty.
func (o *Objective) NonFinite(rows int) string { return o.bySize[rows].NonFinite() }

// Trouble names the parts of loss and gradient that are not finite; it is empty if all are.
func (o *Objective) Trouble(loss float64, grads []*tensor.Dense) string {
	if loss-loss != 0 { // so is x − x of NaN and the infinities alone
		return "the loss"
	}
	for i, name := range o.weights.Learned() {
		if !finite(grads[i]) {
			return "the gradient of " + name
		}
	}
	return ""
}

// finite reports whether all numbers of t are. The square of numbers that are not all finite is not; that of
// large ones may be infinite too.
func finite(t *tensor.Dense) bool {
	if t.Dtype() == tensor.Float32 {
		x := t.Float32s()
		square := op.Dot(x, x)
		return square-square == 0 || allFinite(x)
	}
	x := t.Float64s()
	square := floats.Dot(x, x)
	return square-square == 0 || allFinite(x)
}

func allFinite[F float32 | float64](x []F) bool {
	return !slices.ContainsFunc(x, func(v F) bool { return v-v != 0 })
}

func scalarOf(v gorgonia.Value) float64 {
	switch v := v.(type) {
	case *gorgonia.F32:
		return float64(*v)
	case *gorgonia.F64:
		return float64(*v)
	}
	misused("a value of type %T is no scalar", v)
	return 0
}

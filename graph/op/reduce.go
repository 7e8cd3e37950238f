package op

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Sum adds all elements of a tensor of dims dimensions to one number, in float64.
func Sum(dims int) Op { return Op{SumOp{Kind{Dims: dims}}} }

// SumOp is the op of [Sum].
type SumOp struct{ Of Kind }

func (o SumOp) Signature() []Kind { return []Kind{o.Of, Scalar} }

func (SumOp) Shape([]tensor.Shape) (tensor.Shape, error) { return tensor.ScalarShape(), nil }

func (SumOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	if IsFloat32(out) {
		Values[float32](out)[0] = float32(total(Values[float32](in[0])))
	} else {
		Values[float64](out)[0] = total(Values[float64](in[0]))
	}
}

func total[F Float](x []F) float64 {
	var t float64
	for _, v := range x {
		t += float64(v)
	}
	return t
}

func (SumOp) WRT() []bool { return []bool{true} }

func (o SumOp) Grad(in gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c Grads
	return gorgonia.Nodes{c.Apply(Op{FillOp(o)}, in[0], g)}, c.Err
}

// FillOp is a tensor of x's shape with g everywhere, the transpose of sum.
type FillOp struct{ Of Kind }

func (o FillOp) Signature() []Kind { return []Kind{o.Of, Scalar, o.Of} }

func (FillOp) Shape(in []tensor.Shape) (tensor.Shape, error) { return in[0].Clone(), nil }

func (FillOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	if IsFloat32(out) {
		fillWith(Values[float32](out), Values[float32](in[1])[0])
	} else {
		fillWith(Values[float64](out), Values[float64](in[1])[0])
	}
}

func fillWith[F Float](out []F, v F) {
	for i := range out {
		out[i] = v
	}
}

func (FillOp) WRT() []bool { return []bool{false, true} }

func (o FillOp) Grad(_ gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c Grads
	return gorgonia.Nodes{nil, c.Apply(Op{SumOp(o)}, g)}, c.Err
}

package op

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Sum adds all elements of a tensor of dims dimensions to one number, in float64.
func Sum(dims int) Op { return Op{sum{kind{dims: dims}}} }

type sum struct{ of kind }

func (o sum) signature() []kind { return []kind{o.of, scalar} }

func (sum) shape([]tensor.Shape) (tensor.Shape, error) { return tensor.ScalarShape(), nil }

func (sum) run(out gorgonia.Value, in []gorgonia.Value) {
	if isFloat32(out) {
		values[float32](out)[0] = float32(total(values[float32](in[0])))
	} else {
		values[float64](out)[0] = total(values[float64](in[0]))
	}
}

func total[F float](x []F) float64 {
	var t float64
	for _, v := range x {
		t += float64(v)
	}
	return t
}

func (sum) wrt() []bool { return []bool{true} }

func (o sum) grad(in gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c grads
	return gorgonia.Nodes{c.apply(Op{fill(o)}, in[0], g)}, c.err
}

// fill is a tensor of x's shape with g everywhere, the transpose of sum.
type fill struct{ of kind }

func (o fill) signature() []kind { return []kind{o.of, scalar, o.of} }

func (fill) shape(in []tensor.Shape) (tensor.Shape, error) { return in[0].Clone(), nil }

func (fill) run(out gorgonia.Value, in []gorgonia.Value) {
	if isFloat32(out) {
		fillWith(values[float32](out), values[float32](in[1])[0])
	} else {
		fillWith(values[float64](out), values[float64](in[1])[0])
	}
}

func fillWith[F float](out []F, v F) {
	for i := range out {
		out[i] = v
	}
}

func (fill) wrt() []bool { return []bool{false, true} }

func (o fill) grad(_ gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c grads
	return gorgonia.Nodes{nil, c.apply(Op{sum(o)}, g)}, c.err
}

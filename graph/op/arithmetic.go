package op

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Plus is the sum x + y of two tensors of one shape with dims dimensions.
func Plus(dims int) Op { return Op{plus{kind{dims: dims}}} }

// Times is the elementwise product x ⊙ y of two tensors of one shape with dims
// dimensions.
func Times(dims int) Op { return Op{times{kind{dims: dims}}} }

// Scale is c·x for a constant c and a tensor of dims dimensions.
func Scale(dims int, c float64) Op { return Op{scale{kind{dims: dims}, c}} }

type plus struct{ of kind }

func (o plus) signature() []kind { return []kind{o.of, o.of, o.of} }

func (plus) shape(in []tensor.Shape) (tensor.Shape, error) { return same(in) }

func (plus) run(out gorgonia.Value, in []gorgonia.Value) {
	if isFloat32(out) {
		addTo(values[float32](out), values[float32](in[0]), values[float32](in[1]))
	} else {
		addTo(values[float64](out), values[float64](in[0]), values[float64](in[1]))
	}
}

func addTo[F float](out, x, y []F) {
	stretches(len(x), func(lo, hi int) {
		dst, other := out[lo:hi], y[lo:hi]
		for i, v := range x[lo:hi] {
			dst[i] = v + other[i]
		}
	})
}

func (plus) wrt() []bool { return []bool{true, true} }

func (plus) grad(_ gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	return gorgonia.Nodes{g, g}, nil
}

type times struct{ of kind }

func (o times) signature() []kind { return []kind{o.of, o.of, o.of} }

func (times) shape(in []tensor.Shape) (tensor.Shape, error) { return same(in) }

func (times) run(out gorgonia.Value, in []gorgonia.Value) {
	if isFloat32(out) {
		multiplyTo(values[float32](out), values[float32](in[0]), values[float32](in[1]))
	} else {
		multiplyTo(values[float64](out), values[float64](in[0]), values[float64](in[1]))
	}
}

func multiplyTo[F float](out, x, y []F) {
	for i, v := range x {
		out[i] = v * y[i]
	}
}

func (times) wrt() []bool { return []bool{true, true} }

func (o times) grad(in gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c grads
	dx := c.apply(Op{o}, g, in[1])
	dy := c.apply(Op{o}, g, in[0])
	return gorgonia.Nodes{dx, dy}, c.err
}

type scale struct {
	of kind
	C  float64
}

func (o scale) signature() []kind { return []kind{o.of, o.of} }

func (scale) shape(in []tensor.Shape) (tensor.Shape, error) { return same(in) }

func (o scale) run(out gorgonia.Value, in []gorgonia.Value) {
	if isFloat32(out) {
		scaleTo(values[float32](out), values[float32](in[0]), float32(o.C))
	} else {
		scaleTo(values[float64](out), values[float64](in[0]), o.C)
	}
}

func scaleTo[F float](out, x []F, c F) {
	for i, v := range x {
		out[i] = c * v
	}
}

func (scale) wrt() []bool { return []bool{true} }

func (o scale) grad(_ gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c grads
	return gorgonia.Nodes{c.apply(Op{o}, g)}, c.err
}

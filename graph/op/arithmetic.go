package op

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Plus is the sum x + y of two tensors of one shape with dims dimensions.
func Plus(dims int) Op { return Op{PlusOp{Kind{Dims: dims}}} }

// Times is the elementwise product x ⊙ y of two tensors of one shape with dims
// dimensions.
func Times(dims int) Op { return Op{TimesOp{Kind{Dims: dims}}} }

// Scale is c·x for a constant c and a tensor of dims dimensions.
func Scale(dims int, c float64) Op { return Op{ScaleOp{Kind{Dims: dims}, c}} }

// PlusOp is the op of [Plus].
type PlusOp struct{ Of Kind }

func (o PlusOp) Signature() []Kind { return []Kind{o.Of, o.Of, o.Of} }

func (PlusOp) Shape(in []tensor.Shape) (tensor.Shape, error) { return SameShape(in) }

func (PlusOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	if IsFloat32(out) {
		addTo(Values[float32](out), Values[float32](in[0]), Values[float32](in[1]))
	} else {
		addTo(Values[float64](out), Values[float64](in[0]), Values[float64](in[1]))
	}
}

func addTo[F Float](out, x, y []F) {
	stretches(len(x), func(lo, hi int) {
		dst, other := out[lo:hi], y[lo:hi]
		for i, v := range x[lo:hi] {
			dst[i] = v + other[i]
		}
	})
}

func (PlusOp) WRT() []bool { return []bool{true, true} }

func (PlusOp) Grad(_ gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	return gorgonia.Nodes{g, g}, nil
}

// TimesOp is the op of [Times].
type TimesOp struct{ Of Kind }

func (o TimesOp) Signature() []Kind { return []Kind{o.Of, o.Of, o.Of} }

func (TimesOp) Shape(in []tensor.Shape) (tensor.Shape, error) { return SameShape(in) }

func (TimesOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	if IsFloat32(out) {
		multiplyTo(Values[float32](out), Values[float32](in[0]), Values[float32](in[1]))
	} else {
		multiplyTo(Values[float64](out), Values[float64](in[0]), Values[float64](in[1]))
	}
}

func multiplyTo[F Float](out, x, y []F) {
	for i, v := range x {
		out[i] = v * y[i]
	}
}

func (TimesOp) WRT() []bool { return []bool{true, true} }

func (o TimesOp) Grad(in gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c Grads
	dx := c.Apply(Op{o}, g, in[1])
	dy := c.Apply(Op{o}, g, in[0])
	return gorgonia.Nodes{dx, dy}, c.Err
}

// ScaleOp is the op of [Scale].
type ScaleOp struct {
	Of Kind
	C  float64
}

func (o ScaleOp) Signature() []Kind { return []Kind{o.Of, o.Of} }

func (ScaleOp) Shape(in []tensor.Shape) (tensor.Shape, error) { return SameShape(in) }

func (o ScaleOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	if IsFloat32(out) {
		scaleTo(Values[float32](out), Values[float32](in[0]), float32(o.C))
	} else {
		scaleTo(Values[float64](out), Values[float64](in[0]), o.C)
	}
}

func scaleTo[F Float](out, x []F, c F) {
	for i, v := range x {
		out[i] = c * v
	}
}

func (ScaleOp) WRT() []bool { return []bool{true} }

func (o ScaleOp) Grad(_ gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c Grads
	return gorgonia.Nodes{c.Apply(Op{o}, g)}, c.Err
}

package op

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Stretch multiplies every element of X (B×C) by the one element of v (1).
func Stretch() Op { return Op{StretchOp{}} }

// Inner is Σ x_ij y_ij of two matrices of one shape, as a vector of one element,
// summed in float64.
func Inner() Op { return Op{InnerOp{}} }

// StretchOp is the op of [Stretch].
type StretchOp struct{}

func (StretchOp) Signature() []Kind { return []Kind{Matrix, Vector, Matrix} }

func (StretchOp) Shape(in []tensor.Shape) (tensor.Shape, error) {
	if in[1][0] != 1 {
		return nil, errShapes
	}
	return in[0].Clone(), nil
}

func (StretchOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	if IsFloat32(out) {
		scaleTo(Values[float32](out), Values[float32](in[0]), Values[float32](in[1])[0])
	} else {
		scaleTo(Values[float64](out), Values[float64](in[0]), Values[float64](in[1])[0])
	}
}

func (StretchOp) WRT() []bool { return []bool{true, true} }

func (StretchOp) Grad(in gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c Grads
	dx := c.Apply(Stretch(), g, in[1])
	dv := c.Apply(Inner(), g, in[0])
	return gorgonia.Nodes{dx, dv}, c.Err
}

// InnerOp is the op of [Inner].
type InnerOp struct{}

func (InnerOp) Signature() []Kind { return []Kind{Matrix, Matrix, Vector} }

func (InnerOp) Shape(in []tensor.Shape) (tensor.Shape, error) {
	if _, err := SameShape(in); err != nil {
		return nil, err
	}
	return tensor.Shape{1}, nil
}

func (InnerOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	if IsFloat32(out) {
		Values[float32](out)[0] = float32(innerProduct(Values[float32](in[0]), Values[float32](in[1])))
	} else {
		Values[float64](out)[0] = innerProduct(Values[float64](in[0]), Values[float64](in[1]))
	}
}

func innerProduct[F Float](x, y []F) float64 {
	var sum float64
	for i, v := range x {
		sum += float64(v) * float64(y[i])
	}
	return sum
}

func (InnerOp) WRT() []bool { return []bool{true, true} }

func (InnerOp) Grad(in gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c Grads
	dx := c.Apply(Stretch(), in[1], g)
	dy := c.Apply(Stretch(), in[0], g)
	return gorgonia.Nodes{dx, dy}, c.Err
}

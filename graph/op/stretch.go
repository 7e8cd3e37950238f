package op

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Stretch multiplies every element of X (B×C) by the one element of v (1).
func Stretch() Op { return Op{stretch{}} }

// Inner is Σ x_ij y_ij of two matrices of one shape, as a vector of one element,
// summed in float64.
func Inner() Op { return Op{inner{}} }

type stretch struct{}

func (stretch) signature() []kind { return []kind{matrix, vector, matrix} }

func (stretch) shape(in []tensor.Shape) (tensor.Shape, error) {
	if in[1][0] != 1 {
		return nil, errShapes
	}
	return in[0].Clone(), nil
}

func (stretch) run(out gorgonia.Value, in []gorgonia.Value) {
	if isFloat32(out) {
		scaleTo(values[float32](out), values[float32](in[0]), values[float32](in[1])[0])
	} else {
		scaleTo(values[float64](out), values[float64](in[0]), values[float64](in[1])[0])
	}
}

func (stretch) wrt() []bool { return []bool{true, true} }

func (stretch) grad(in gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c grads
	dx := c.apply(Stretch(), g, in[1])
	dv := c.apply(Inner(), g, in[0])
	return gorgonia.Nodes{dx, dv}, c.err
}

type inner struct{}

func (inner) signature() []kind { return []kind{matrix, matrix, vector} }

func (inner) shape(in []tensor.Shape) (tensor.Shape, error) {
	if _, err := same(in); err != nil {
		return nil, err
	}
	return tensor.Shape{1}, nil
}

func (inner) run(out gorgonia.Value, in []gorgonia.Value) {
	if isFloat32(out) {
		values[float32](out)[0] = float32(innerProduct(values[float32](in[0]), values[float32](in[1])))
	} else {
		values[float64](out)[0] = innerProduct(values[float64](in[0]), values[float64](in[1]))
	}
}

func innerProduct[F float](x, y []F) float64 {
	var sum float64
	for i, v := range x {
		sum += float64(v) * float64(y[i])
	}
	return sum
}

func (inner) wrt() []bool { return []bool{true, true} }

func (inner) grad(in gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c grads
	dx := c.apply(Stretch(), in[1], g)
	dy := c.apply(Stretch(), in[0], g)
	return gorgonia.Nodes{dx, dy}, c.err
}

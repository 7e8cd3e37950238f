package op

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Reshape reads the values of a tensor with dims dimensions, in order, as one of
// another shape. A first dimension of −1 is what the others leave.
func Reshape(dims int, shape ...int) Op {
	o := reshape{of: kind{dims: dims}, to: kind{dims: len(shape)}}
	copy(o.Shape[:], shape)
	return Op{o}
}

type reshape struct {
	of, to kind
	Shape  [4]int // of to.dims entries
}

func (o reshape) signature() []kind { return []kind{o.of, o.to} }

func (o reshape) shape(in []tensor.Shape) (tensor.Shape, error) {
	s := make(tensor.Shape, o.to.dims)
	copy(s, o.Shape[:])
	size := in[0].TotalSize()
	if s[0] == -1 {
		rest := s[1:].TotalSize()
		if o.to.dims == 1 {
			rest = 1
		}
		s[0] = size / rest
	}
	if s.TotalSize() != size {
		return nil, errShapes
	}
	return s, nil
}

func (reshape) run(out gorgonia.Value, in []gorgonia.Value) {
	if isFloat32(out) {
		copy(values[float32](out), values[float32](in[0]))
	} else {
		copy(values[float64](out), values[float64](in[0]))
	}
}

func (reshape) wrt() []bool { return []bool{true} }

func (o reshape) grad(in gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c grads
	return gorgonia.Nodes{c.apply(Reshape(o.to.dims, in[0].Shape()...), g)}, c.err
}

package op

// Reshape reads the values of a tensor with dims dimensions, in order, as one of
// another shape. A first dimension of −1 is what the others leave.
func Reshape(dims int, shape ...int) Op {
	o := ReshapeOp{Of: Kind{Dims: dims}, to: Kind{Dims: len(shape)}}
	copy(o.To[:], shape)
	return Op{o}
}

// ReshapeOp is the op of [Reshape].
type ReshapeOp struct {
	Of, to Kind
	To     [4]int // of to.Dims entries
}

func (o ReshapeOp) Signature() []Kind { return []Kind{o.Of, o.to} }

func (o ReshapeOp) Shape(in []Shape) (Shape, error) {
	s := make(Shape, o.to.Dims)
	copy(s, o.To[:])
	size := in[0].TotalSize()
	if s[0] == -1 {
		rest := s[1:].TotalSize()
		if o.to.Dims == 1 {
			rest = 1
		}
		s[0] = size / rest
	}
	if s.TotalSize() != size {
		return nil, errShapes
	}
	return s, nil
}

// Target is the shape that it gives, −1 for the axis that takes what is left.
func (o ReshapeOp) Target() []int { return o.To[:o.to.Dims] }

func (o ReshapeOp) Run(out Value, in []Value) { Dispatch(o, out, in, reshape, reshape) }

func reshape[F Float](_ ReshapeOp, v Args[F]) { copy(v.Out(), v.In(0)) }

func (o ReshapeOp) Grad(in Nodes, _, g *Node) (Nodes, error) {
	return Nodes{Reshape(o.to.Dims, in[0].Shape()...).Of(g)}, nil
}

package op

import "math"

// ELU is x for x > 0 and eˣ − 1 below (Clevert et al. 2016), of a tensor of dims
// dimensions.
func ELU(dims int) Op { return Op{ELUOp{Kind{Dims: dims}}} }

// ELUOp is the op of [ELU].
type ELUOp struct{ Of Kind }

func (o ELUOp) Form() string              { return AlikeByRow(o.Of, 1) }
func (o ELUOp) Run(out Value, in []Value) { Dispatch(o, out, in, elu, elu) }

func elu[F Float](_ ELUOp, v Args[F]) {
	out := v.Out()
	for i, x := range v.In(0) {
		if x > 0 {
			out[i] = x
		} else {
			out[i] = F(math.Expm1(float64(x)))
		}
	}
}

func (o ELUOp) Grad(_ Nodes, out, g *Node) (Nodes, error) {
	return Nodes{Op{ELUGradOp(o)}.Of(out, g)}, nil
}

// ELUGradOp is g·min(1, 1 + y), from y = ELU(x) and g.
type ELUGradOp struct{ Of Kind }

func (o ELUGradOp) Form() string              { return AlikeByRow(o.Of, 2) }
func (o ELUGradOp) Run(out Value, in []Value) { Dispatch(o, out, in, eluGradients, eluGradients) }

func eluGradients[F Float](_ ELUGradOp, v Args[F]) {
	out, g := v.Out(), v.In(1)
	for i, y := range v.In(0) {
		out[i] = g[i] * min(1, 1+y)
	}
}

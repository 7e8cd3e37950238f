package op

import (
	"math"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// ELU is x for x > 0 and eˣ − 1 below (Clevert et al. 2016), of a tensor of dims
// dimensions.
func ELU(dims int) Op { return Op{ELUOp{Kind{Dims: dims}}} }

// ELUOp is the op of [ELU].
type ELUOp struct{ Of Kind }

func (o ELUOp) Signature() []Kind { return []Kind{o.Of, o.Of} }

func (ELUOp) Shape(in []tensor.Shape) (tensor.Shape, error) { return SameShape(in) }

func (ELUOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	if IsFloat32(out) {
		eluTo(Values[float32](out), Values[float32](in[0]))
	} else {
		eluTo(Values[float64](out), Values[float64](in[0]))
	}
}

func eluTo[F Float](out, x []F) {
	for i, v := range x {
		if v > 0 {
			out[i] = v
		} else {
			out[i] = F(math.Expm1(float64(v)))
		}
	}
}

func (ELUOp) WRT() []bool { return []bool{true} }

func (o ELUOp) Grad(_ gorgonia.Nodes, out, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c Grads
	return gorgonia.Nodes{c.Apply(Op{ELUGradOp(o)}, out, g)}, c.Err
}

// ELUGradOp is g·min(1, 1 + y), from y = ELU(x) and g.
type ELUGradOp struct{ Of Kind }

func (o ELUGradOp) Signature() []Kind { return []Kind{o.Of, o.Of, o.Of} }

func (ELUGradOp) Shape(in []tensor.Shape) (tensor.Shape, error) { return SameShape(in) }

func (ELUGradOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	if IsFloat32(out) {
		eluSlopes(Values[float32](out), Values[float32](in[0]), Values[float32](in[1]))
	} else {
		eluSlopes(Values[float64](out), Values[float64](in[0]), Values[float64](in[1]))
	}
}

func eluSlopes[F Float](out, y, g []F) {
	for i, v := range y {
		out[i] = g[i] * min(1, 1+v)
	}
}

package op

import (
	"fmt"
	"math"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// FlooredLog is log max(x, floor) of a tensor of dims dimensions, for a positive
// floor; its derivative is 1/x above the floor and 0 at and below it.
func FlooredLog(dims int, floor float64) Op {
	if !(floor > 0) {
		panic(fmt.Sprintf("op: FlooredLog with a floor of %v, which is not positive", floor))
	}
	return Op{FlooredLogOp{Kind{Dims: dims}, floor}}
}

// FlooredLogOp is the op of [FlooredLog].
type FlooredLogOp struct {
	Of    Kind
	Floor float64
}

func (o FlooredLogOp) Signature() []Kind { return []Kind{o.Of, o.Of} }

func (FlooredLogOp) Shape(in []tensor.Shape) (tensor.Shape, error) { return SameShape(in) }

func (o FlooredLogOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	if IsFloat32(out) {
		logTo(Values[float32](out), Values[float32](in[0]), o.Floor)
	} else {
		logTo(Values[float64](out), Values[float64](in[0]), o.Floor)
	}
}

func logTo[F Float](out, x []F, floor float64) {
	for i, v := range x {
		out[i] = F(math.Log(max(float64(v), floor)))
	}
}

func (FlooredLogOp) WRT() []bool { return []bool{true} }

func (o FlooredLogOp) Grad(in gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c Grads
	return gorgonia.Nodes{c.Apply(Op{FlooredLogGradOp(o)}, in[0], g)}, c.Err
}

// FlooredLogGradOp is g/x where x is above the floor and 0 elsewhere.
type FlooredLogGradOp struct {
	Of    Kind
	Floor float64
}

func (o FlooredLogGradOp) Signature() []Kind { return []Kind{o.Of, o.Of, o.Of} }

func (FlooredLogGradOp) Shape(in []tensor.Shape) (tensor.Shape, error) { return SameShape(in) }

func (o FlooredLogGradOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	if IsFloat32(out) {
		divideAbove(Values[float32](out), Values[float32](in[0]), Values[float32](in[1]), float32(o.Floor))
	} else {
		divideAbove(Values[float64](out), Values[float64](in[0]), Values[float64](in[1]), o.Floor)
	}
}

func divideAbove[F Float](out, x, g []F, floor F) {
	for i, v := range x {
		if v > floor {
			out[i] = g[i] / v
		} else {
			out[i] = 0
		}
	}
}

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
	return Op{flooredLog{kind{dims: dims}, floor}}
}

type flooredLog struct {
	of    kind
	Floor float64
}

func (o flooredLog) signature() []kind { return []kind{o.of, o.of} }

func (flooredLog) shape(in []tensor.Shape) (tensor.Shape, error) { return same(in) }

func (o flooredLog) run(out gorgonia.Value, in []gorgonia.Value) {
	if isFloat32(out) {
		logTo(values[float32](out), values[float32](in[0]), o.Floor)
	} else {
		logTo(values[float64](out), values[float64](in[0]), o.Floor)
	}
}

func logTo[F float](out, x []F, floor float64) {
	for i, v := range x {
		out[i] = F(math.Log(max(float64(v), floor)))
	}
}

func (flooredLog) wrt() []bool { return []bool{true} }

func (o flooredLog) grad(in gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c grads
	return gorgonia.Nodes{c.apply(Op{flooredLogGrad(o)}, in[0], g)}, c.err
}

// flooredLogGrad is g/x where x is above the floor and 0 elsewhere.
type flooredLogGrad struct {
	of    kind
	Floor float64
}

func (o flooredLogGrad) signature() []kind { return []kind{o.of, o.of, o.of} }

func (flooredLogGrad) shape(in []tensor.Shape) (tensor.Shape, error) { return same(in) }

func (o flooredLogGrad) run(out gorgonia.Value, in []gorgonia.Value) {
	if isFloat32(out) {
		divideAbove(values[float32](out), values[float32](in[0]), values[float32](in[1]), float32(o.Floor))
	} else {
		divideAbove(values[float64](out), values[float64](in[0]), values[float64](in[1]), o.Floor)
	}
}

func divideAbove[F float](out, x, g []F, floor F) {
	for i, v := range x {
		if v > floor {
			out[i] = g[i] / v
		} else {
			out[i] = 0
		}
	}
}

package op

import (
	"math"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// ELU is x for x > 0 and eˣ − 1 below (Clevert et al. 2016), of a tensor of dims
// dimensions.
func ELU(dims int) Op { return Op{elu{kind{dims: dims}}} }

type elu struct{ of kind }

func (o elu) signature() []kind { return []kind{o.of, o.of} }

func (elu) shape(in []tensor.Shape) (tensor.Shape, error) { return same(in) }

func (elu) run(out gorgonia.Value, in []gorgonia.Value) {
	if isFloat32(out) {
		eluTo(values[float32](out), values[float32](in[0]))
	} else {
		eluTo(values[float64](out), values[float64](in[0]))
	}
}

func eluTo[F float](out, x []F) {
	for i, v := range x {
		if v > 0 {
			out[i] = v
		} else {
			out[i] = F(math.Expm1(float64(v)))
		}
	}
}

func (elu) wrt() []bool { return []bool{true} }

func (o elu) grad(_ gorgonia.Nodes, out, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c grads
	return gorgonia.Nodes{c.apply(Op{eluGrad(o)}, out, g)}, c.err
}

// eluGrad is g·min(1, 1 + y), from y = ELU(x) and g.
type eluGrad struct{ of kind }

func (o eluGrad) signature() []kind { return []kind{o.of, o.of, o.of} }

func (eluGrad) shape(in []tensor.Shape) (tensor.Shape, error) { return same(in) }

func (eluGrad) run(out gorgonia.Value, in []gorgonia.Value) {
	if isFloat32(out) {
		eluSlopes(values[float32](out), values[float32](in[0]), values[float32](in[1]))
	} else {
		eluSlopes(values[float64](out), values[float64](in[0]), values[float64](in[1]))
	}
}

func eluSlopes[F float](out, y, g []F) {
	for i, v := range y {
		out[i] = g[i] * min(1, 1+v)
	}
}

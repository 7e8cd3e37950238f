package op

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// ReGLU is a ⊙ ReLU(b) of the halves [a, b] of each row of X (B×2H): B×H (Shazeer
// 2020).
func ReGLU() Op { return Op{reglu{}} }

type reglu struct{}

func (reglu) signature() []kind { return []kind{matrix, matrix} }

func (reglu) shape(in []tensor.Shape) (tensor.Shape, error) {
	if in[0][1]%2 != 0 {
		return nil, errShapes
	}
	return tensor.Shape{in[0][0], in[0][1] / 2}, nil
}

func (reglu) run(out gorgonia.Value, in []gorgonia.Value) {
	if isFloat32(out) {
		gate(values[float32](out), values[float32](in[0]), columns(out))
	} else {
		gate(values[float64](out), values[float64](in[0]), columns(out))
	}
}

func gate[F float](out, x []F, h int) {
	rowwise(len(out)/h, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			dst, a, b := out[i*h:(i+1)*h], x[2*i*h:(2*i+1)*h], x[(2*i+1)*h:(2*i+2)*h]
			for j, v := range a {
				dst[j] = v * max(b[j], 0)
			}
		}
	})
}

func (reglu) wrt() []bool { return []bool{true} }

func (reglu) grad(in gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c grads
	return gorgonia.Nodes{c.apply(Op{regluGrad{}}, in[0], g)}, c.err
}

// regluGrad is [g ReLU(b), g a where b > 0], from X and G.
type regluGrad struct{}

func (regluGrad) signature() []kind { return []kind{matrix, matrix, matrix} }

func (regluGrad) shape(in []tensor.Shape) (tensor.Shape, error) { return in[0].Clone(), nil }

func (regluGrad) run(out gorgonia.Value, in []gorgonia.Value) {
	if isFloat32(out) {
		gateSlopes(values[float32](out), values[float32](in[0]), values[float32](in[1]), columns(in[1]))
	} else {
		gateSlopes(values[float64](out), values[float64](in[0]), values[float64](in[1]), columns(in[1]))
	}
}

func gateSlopes[F float](out, x, g []F, h int) {
	rowwise(len(g)/h, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			a, b := x[2*i*h:(2*i+1)*h], x[(2*i+1)*h:(2*i+2)*h]
			da, db := out[2*i*h:(2*i+1)*h], out[(2*i+1)*h:(2*i+2)*h]
			for j, v := range g[i*h : (i+1)*h] {
				da[j], db[j] = 0, 0
				if b[j] > 0 {
					da[j], db[j] = v*b[j], v*a[j]
				}
			}
		}
	})
}

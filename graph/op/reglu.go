package op

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// ReGLU is a ⊙ ReLU(b) of the halves [a, b] of each row of X (B×2H): B×H (Shazeer
// 2020).
func ReGLU() Op { return Op{ReGLUOp{}} }

// ReGLUOp is the op of [ReGLU].
type ReGLUOp struct{}

func (ReGLUOp) Signature() []Kind { return []Kind{Matrix, Matrix} }

func (ReGLUOp) Shape(in []tensor.Shape) (tensor.Shape, error) {
	if in[0][1]%2 != 0 {
		return nil, errShapes
	}
	return tensor.Shape{in[0][0], in[0][1] / 2}, nil
}

func (ReGLUOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	if IsFloat32(out) {
		gate(Values[float32](out), Values[float32](in[0]), columns(out))
	} else {
		gate(Values[float64](out), Values[float64](in[0]), columns(out))
	}
}

func gate[F Float](out, x []F, h int) {
	rowwise(len(out)/h, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			dst, a, b := out[i*h:(i+1)*h], x[2*i*h:(2*i+1)*h], x[(2*i+1)*h:(2*i+2)*h]
			for j, v := range a {
				dst[j] = v * max(b[j], 0)
			}
		}
	})
}

func (ReGLUOp) WRT() []bool { return []bool{true} }

func (ReGLUOp) Grad(in gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c Grads
	return gorgonia.Nodes{c.Apply(Op{ReGLUGradOp{}}, in[0], g)}, c.Err
}

// ReGLUGradOp is [g ReLU(b), g a where b > 0], from X and G.
type ReGLUGradOp struct{}

func (ReGLUGradOp) Signature() []Kind { return []Kind{Matrix, Matrix, Matrix} }

func (ReGLUGradOp) Shape(in []tensor.Shape) (tensor.Shape, error) { return in[0].Clone(), nil }

func (ReGLUGradOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	if IsFloat32(out) {
		gateSlopes(Values[float32](out), Values[float32](in[0]), Values[float32](in[1]), columns(in[1]))
	} else {
		gateSlopes(Values[float64](out), Values[float64](in[0]), Values[float64](in[1]), columns(in[1]))
	}
}

func gateSlopes[F Float](out, x, g []F, h int) {
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

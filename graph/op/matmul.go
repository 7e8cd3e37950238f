package op

import (
	ours "calibra/graph/blas"

	"gonum.org/v1/gonum/blas"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// MatMul is X·Y for X (m×k) and Y (k×n), multiplied by whom package blas chose.
func MatMul() Op { return Op{MatMulOp{blas.NoTrans, blas.NoTrans}} }

// MatMulNT is X·Yᵀ for X (m×k) and Y (n×k).
func MatMulNT() Op { return Op{MatMulOp{blas.NoTrans, blas.Trans}} }

// MatMulTN is Xᵀ·Y for X (k×m) and Y (k×n).
func MatMulTN() Op { return Op{MatMulOp{blas.Trans, blas.NoTrans}} }

// MatMulOp is the op of [MatMul].
type MatMulOp struct{ X, Y blas.Transpose }

func (MatMulOp) Signature() []Kind { return []Kind{Matrix, Matrix, Matrix} }

func (o MatMulOp) Shape(in []tensor.Shape) (tensor.Shape, error) {
	m, k := oriented(in[0], o.X)
	l, n := oriented(in[1], o.Y)
	if k != l {
		return nil, errShapes
	}
	return tensor.Shape{m, n}, nil
}

func oriented(s tensor.Shape, t blas.Transpose) (rows, cols int) {
	if t == blas.Trans {
		return s[1], s[0]
	}
	return s[0], s[1]
}

func (o MatMulOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	m, k := oriented(in[0].Shape(), o.X)
	n, ldx, ldy := columns(out), columns(in[0]), columns(in[1])
	if IsFloat32(out) {
		ours.Current().Sgemm(o.X, o.Y, m, n, k, 1, Values[float32](in[0]), ldx, Values[float32](in[1]), ldy, 0, Values[float32](out), n)
	} else {
		ours.Current().Dgemm(o.X, o.Y, m, n, k, 1, Values[float64](in[0]), ldx, Values[float64](in[1]), ldy, 0, Values[float64](out), n)
	}
}

func (MatMulOp) WRT() []bool { return []bool{true, true} }

func (o MatMulOp) Grad(in gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c Grads
	var dx, dy *gorgonia.Node
	switch {
	case o.X == blas.Trans: // Z = XᵀY: dX = Y·Gᵀ, dY = X·G
		dx, dy = c.Apply(MatMulNT(), in[1], g), c.Apply(MatMul(), in[0], g)
	case o.Y == blas.Trans: // Z = XYᵀ: dX = G·Y, dY = Gᵀ·X
		dx, dy = c.Apply(MatMul(), g, in[1]), c.Apply(MatMulTN(), g, in[0])
	default: // Z = XY: dX = G·Yᵀ, dY = Xᵀ·G
		dx, dy = c.Apply(MatMulNT(), g, in[1]), c.Apply(MatMulTN(), in[0], g)
	}
	return gorgonia.Nodes{dx, dy}, c.Err
}

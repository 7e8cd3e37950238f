package op

import (
	ours "calibra/graph/blas"

	"gonum.org/v1/gonum/blas"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// BlockMatMul multiplies block by block: X is n blocks X_i (K×d) below each other, V
// is n blocks V_i (d×C), and so is the product,
//
//	Y_i = X_i V_i   (K×C, (n·K)×C in all).
func BlockMatMul(n int) Op { return Op{BlockMatMulOp{n, blas.NoTrans, blas.NoTrans}} }

// BlockMatMulOp is the op of [BlockMatMul].
type BlockMatMulOp struct {
	N    int
	X, Y blas.Transpose // of each block; not both are transposed
}

func (BlockMatMulOp) Signature() []Kind { return []Kind{Matrix, Matrix, Matrix} }

// block is the shape of one of n blocks.
func (o BlockMatMulOp) block(s tensor.Shape) tensor.Shape { return tensor.Shape{s[0] / o.N, s[1]} }

func (o BlockMatMulOp) Shape(in []tensor.Shape) (tensor.Shape, error) {
	if in[0][0]%o.N != 0 || in[1][0]%o.N != 0 {
		return nil, errShapes
	}
	out, err := MatMulOp{o.X, o.Y}.Shape([]tensor.Shape{o.block(in[0]), o.block(in[1])})
	if err != nil {
		return nil, err
	}
	return tensor.Shape{o.N * out[0], out[1]}, nil
}

func (o BlockMatMulOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	x, y := o.block(in[0].Shape()), o.block(in[1].Shape())
	m, k := oriented(x, o.X)
	n := columns(out)
	for i := range o.N {
		ofX, ofY, ofOut := i*x[0]*x[1], i*y[0]*y[1], i*m*n
		if IsFloat32(out) {
			ours.Current().Sgemm(o.X, o.Y, m, n, k, 1, Values[float32](in[0])[ofX:], x[1], Values[float32](in[1])[ofY:], y[1], 0, Values[float32](out)[ofOut:], n)
		} else {
			ours.Current().Dgemm(o.X, o.Y, m, n, k, 1, Values[float64](in[0])[ofX:], x[1], Values[float64](in[1])[ofY:], y[1], 0, Values[float64](out)[ofOut:], n)
		}
	}
}

func (BlockMatMulOp) WRT() []bool { return []bool{true, true} }

func (o BlockMatMulOp) Grad(in gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c Grads
	of := func(x, y blas.Transpose) Op { return Op{BlockMatMulOp{o.N, x, y}} }
	var dx, dy *gorgonia.Node
	switch {
	case o.X == blas.Trans: // Y_i = X_iᵀV_i: dX_i = V_i G_iᵀ, dV_i = X_i G_i
		dx, dy = c.Apply(of(blas.NoTrans, blas.Trans), in[1], g), c.Apply(of(blas.NoTrans, blas.NoTrans), in[0], g)
	case o.Y == blas.Trans: // Y_i = X_iV_iᵀ: dX_i = G_i V_i, dV_i = G_iᵀ X_i
		dx, dy = c.Apply(of(blas.NoTrans, blas.NoTrans), g, in[1]), c.Apply(of(blas.Trans, blas.NoTrans), g, in[0])
	default: // dX_i = G_i V_iᵀ, dV_i = X_iᵀ G_i
		dx, dy = c.Apply(of(blas.NoTrans, blas.Trans), g, in[1]), c.Apply(of(blas.Trans, blas.NoTrans), in[0], g)
	}
	return gorgonia.Nodes{dx, dy}, c.Err
}

package op

import "gonum.org/v1/gonum/blas"

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
func (o BlockMatMulOp) block(s Shape) Shape { return Shape{s[0] / o.N, s[1]} }

func (o BlockMatMulOp) Shape(in []Shape) (Shape, error) {
	if in[0][0]%o.N != 0 || in[1][0]%o.N != 0 {
		return nil, errShapes
	}
	out, err := Op{MatMulOp{o.X, o.Y}}.shape([]Shape{o.block(in[0]), o.block(in[1])})
	if err != nil {
		return nil, err
	}
	return Shape{o.N * out[0], out[1]}, nil
}

func (o BlockMatMulOp) Run(out Value, in []Value) {
	Dispatch(o, out, in, multiplyBlocks, multiplyBlocks)
}

func multiplyBlocks[F Float](o BlockMatMulOp, v Args[F]) {
	x, y := o.block(v.Shape(0)), o.block(v.Shape(1))
	m, k := oriented(x, o.X)
	n := v.OutShape()[1]
	for i := range o.N {
		gemm(o.X, o.Y, m, n, k, v.In(0)[i*x[0]*x[1]:], x[1], v.In(1)[i*y[0]*y[1]:], y[1], 0, v.Out()[i*m*n:], n)
	}
}

func (o BlockMatMulOp) Grad(in Nodes, _, g *Node) (Nodes, error) {
	return productGradients(o.X, o.Y, func(x, y blas.Transpose) Op { return Op{BlockMatMulOp{o.N, x, y}} }, in[0], in[1], g), nil
}

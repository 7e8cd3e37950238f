package op

import "gonum.org/v1/gonum/blas"

// MatMul is X·Y for X (m×k) and Y (k×n), by the BLAS that is in use (package blas).
func MatMul() Op { return Op{MatMulOp{blas.NoTrans, blas.NoTrans}} }

// MatMulNT is X·Yᵀ for X (m×k) and Y (n×k).
func MatMulNT() Op { return Op{MatMulOp{blas.NoTrans, blas.Trans}} }

// MatMulTN is Xᵀ·Y for X (k×m) and Y (k×n).
func MatMulTN() Op { return Op{MatMulOp{blas.Trans, blas.NoTrans}} }

// MatMulOp is the op of [MatMul].
type MatMulOp struct{ X, Y blas.Transpose }

func (o MatMulOp) Form() string {
	form := turned("m k", o.X) + ", " + turned("k n", o.Y) + " -> m n"
	if o.X == blas.NoTrans {
		form += " by m"
	}
	return form
}

func (o MatMulOp) Run(out Value, in []Value) { Dispatch(o, out, in, product, product) }

// turned is the axes of a matrix, transposed or not.
func turned(axes string, t blas.Transpose) string {
	if t == blas.Trans {
		return axes[2:] + " " + axes[:1]
	}
	return axes
}

func oriented(s Shape, t blas.Transpose) (rows, cols int) {
	if t == blas.Trans {
		return s[1], s[0]
	}
	return s[0], s[1]
}

func product[F Float](o MatMulOp, v Args[F]) {
	m, k := oriented(v.Shape(0), o.X)
	n := v.OutShape()[1]
	gemm(o.X, o.Y, m, n, k, v.In(0), v.Columns(0), v.In(1), v.Columns(1), 0, v.Out(), n)
}

func (o MatMulOp) Grad(in Nodes, _, g *Node) (Nodes, error) {
	return productGradients(o.X, o.Y, func(x, y blas.Transpose) Op { return Op{MatMulOp{x, y}} }, in[0], in[1], g), nil
}

// productGradients are those of a product of x and y, of which not both are transposed.
func productGradients(ofX, ofY blas.Transpose, product func(x, y blas.Transpose) Op, x, y, g *Node) Nodes {
	plain, nt, tn := product(blas.NoTrans, blas.NoTrans), product(blas.NoTrans, blas.Trans), product(blas.Trans, blas.NoTrans)
	switch {
	case ofX == blas.Trans: // Z = XᵀY: dX = Y·Gᵀ, dY = X·G
		return Nodes{nt.Of(y, g), plain.Of(x, g)}
	case ofY == blas.Trans: // Z = XYᵀ: dX = G·Y, dY = Gᵀ·X
		return Nodes{plain.Of(g, y), tn.Of(g, x)}
	}
	return Nodes{nt.Of(g, y), tn.Of(x, g)} // Z = XY: dX = G·Yᵀ, dY = Xᵀ·G
}

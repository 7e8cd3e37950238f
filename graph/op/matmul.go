package op

import (
	"calibra/graph/simd"
	"calibra/graph/work"

	"gonum.org/v1/gonum/blas"
)

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

func (o MatMulOp) Grad(in Nodes, _, g *Node) Nodes {
	return productGradients(o.X, o.Y, func(x, y blas.Transpose) Op { return Op{MatMulOp{x, y}} }, in[0], in[1], g)
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

func (o BlockMatMulOp) Grad(in Nodes, _, g *Node) Nodes {
	return productGradients(o.X, o.Y, func(x, y blas.Transpose) Op { return Op{BlockMatMulOp{o.N, x, y}} }, in[0], in[1], g)
}

// Outer is the outer product of matching rows, M_k = a_k b_kᵀ, from receivers
// a (K×C) and senders b (K×D) to a K×(C·D) matrix whose row k is M_k read row by
// row: entry i·D+j is a_ki b_kj.
func Outer() Op { return Op{OuterOp{}} }

// OuterLeft contracts the right factor of a row of outer products: y_ki = Σ_j
// G_k[i,j] b_kj, from G (K×(C·D)) and b (K×D) to K×C.
func OuterLeft() Op { return Op{OuterLeftOp{}} }

// OuterRight contracts the left factor: y_kj = Σ_i G_k[i,j] a_ki, from
// G (K×(C·D)) and a (K×C) to K×D.
func OuterRight() Op { return Op{OuterRightOp{}} }

// OuterOp is the op of [Outer].
type OuterOp struct{}

func (OuterOp) Form() string                { return "K C, K D -> K C*D" }
func (o OuterOp) Run(out Value, in []Value) { Dispatch(o, out, in, outer, outer) }

func outer[F Float](_ OuterOp, v Args[F]) {
	eachOuter(pick[func(m, a, b []F)](simd.Outer, simd.Outer64), v.Out(), v.In(0), v.In(1), v.Shape(0)[0])
}

func (OuterOp) Grad(in Nodes, _, g *Node) Nodes {
	return Nodes{OuterLeft().Of(g, in[1]), OuterRight().Of(g, in[0])}
}

// OuterLeftOp is the op of [OuterLeft].
type OuterLeftOp struct{}

func (OuterLeftOp) Form() string                { return "K E, K D -> K E/D" }
func (o OuterLeftOp) Run(out Value, in []Value) { Dispatch(o, out, in, left, left) }

func left[F Float](_ OuterLeftOp, v Args[F]) {
	eachOuter(pick[func(g, y, b []F)](contractLeft32, contractLeft64), v.In(0), v.Out(), v.In(1), v.Shape(0)[0])
}

func contractLeft32(g, y, b []float32) { simd.Dots(y, g, b) }

func contractLeft64(g, y, b []float64) {
	for i := range y {
		y[i] = dot(g[i*len(b):(i+1)*len(b)], b)
	}
}

func (OuterLeftOp) Grad(in Nodes, _, g *Node) Nodes {
	return Nodes{Outer().Of(g, in[1]), OuterRight().Of(in[0], g)}
}

// OuterRightOp is the op of [OuterRight].
type OuterRightOp struct{}

func (OuterRightOp) Form() string                { return "K E, K C -> K E/C" }
func (o OuterRightOp) Run(out Value, in []Value) { Dispatch(o, out, in, right, right) }

func right[F Float](_ OuterRightOp, v Args[F]) {
	eachOuter(pick[func(g, a, y []F)](contractRight32, contractRight64), v.In(0), v.In(1), v.Out(), v.Shape(0)[0])
}

// contractRight32 writes each number once: rows of y share a cache line, and threads write them side by side.
func contractRight32(g, a, y []float32) {
	all := borrow[int32](len(a) + 1)
	defer all.back()
	for i := range all.values {
		all.values[i] = int32(i)
	}
	simd.SumShares(y, g, len(y), 0, all.values[len(a):], all.values[:len(a)], a)
}

func contractRight64(g, a, y []float64) {
	clear(y)
	for i, x := range a {
		simd.Axpy64(y, x, g[i*len(y):(i+1)*len(y)])
	}
}

func (OuterRightOp) Grad(in Nodes, _, g *Node) Nodes {
	return Nodes{Outer().Of(in[1], g), OuterLeft().Of(in[0], g)}
}

// outers is one of the three for each of K rows: of M_k (C·D), a_k (C) and b_k (D), one
// of which it writes.
type outers[F Float] struct {
	of      func(m, a, b []F)
	m, a, b []F
	c, d    int
}

// Block works on rows of some 8,192 entries of M.
func (o *outers[F]) Block(i int) {
	per := o.rowsPerBlock()
	for k := i * per; k < min((i+1)*per, len(o.a)/o.c); k++ {
		o.of(o.m[k*o.c*o.d:(k+1)*o.c*o.d], o.a[k*o.c:(k+1)*o.c], o.b[k*o.d:(k+1)*o.d])
	}
}

func (o *outers[F]) rowsPerBlock() int { return 1 + 8192/(o.c*o.d) }

func eachOuter[F Float](of func(m, a, b []F), m, a, b []F, k int) {
	o := outers[F]{of: of, m: m, a: a, b: b, c: len(a) / k, d: len(b) / k}
	pick[*work.Jobs[outers[F], *outers[F]]](&outers32, &outers64).Run((k+o.rowsPerBlock()-1)/o.rowsPerBlock(), o)
}

var (
	outers32 work.Jobs[outers[float32], *outers[float32]]
	outers64 work.Jobs[outers[float64], *outers[float64]]
)

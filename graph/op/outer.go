package op

import "calibra/graph/simd"

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

func (OuterOp) Grad(in Nodes, _, g *Node) (Nodes, error) {
	return Nodes{OuterLeft().Of(g, in[1]), OuterRight().Of(g, in[0])}, nil
}

// OuterLeftOp is the op of [OuterLeft].
type OuterLeftOp struct{}

func (OuterLeftOp) Form() string                { return "K E, K D -> K E/D" }
func (o OuterLeftOp) Run(out Value, in []Value) { Dispatch(o, out, in, left, left) }

func left[F Float](_ OuterLeftOp, v Args[F]) {
	eachOuter(pick[func(g, y, b []F)](contractLeft[float32], contractLeft[float64]), v.In(0), v.Out(), v.In(1), v.Shape(0)[0])
}

func contractLeft[F Float](g, y, b []F) {
	dot := pick[func(x, y []F) F](simd.Dot, dot[float64])
	for i := range y {
		y[i] = dot(g[i*len(b):(i+1)*len(b)], b)
	}
}

func (OuterLeftOp) Grad(in Nodes, _, g *Node) (Nodes, error) {
	return Nodes{Outer().Of(g, in[1]), OuterRight().Of(in[0], g)}, nil
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
	all := borrow[int32](len(a))
	defer all.back()
	for i := range a {
		all.values[i] = int32(i)
	}
	simd.SumShares(y, g, all.values, a)
}

func contractRight64(g, a, y []float64) {
	clear(y)
	for i, x := range a {
		simd.Axpy64(y, x, g[i*len(y):(i+1)*len(y)])
	}
}

func (OuterRightOp) Grad(in Nodes, _, g *Node) (Nodes, error) {
	return Nodes{Outer().Of(in[1], g), OuterLeft().Of(in[0], g)}, nil
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
	for k := i * o.rowsPerBlock(); k < min((i+1)*o.rowsPerBlock(), len(o.a)/o.c); k++ {
		o.of(o.m[k*o.c*o.d:(k+1)*o.c*o.d], o.a[k*o.c:(k+1)*o.c], o.b[k*o.d:(k+1)*o.d])
	}
}

func (o *outers[F]) rowsPerBlock() int { return 1 + 8192/(o.c*o.d) }

func eachOuter[F Float](of func(m, a, b []F), m, a, b []F, k int) {
	o := outers[F]{of: of, m: m, a: a, b: b, c: len(a) / k, d: len(b) / k}
	pick[*simd.Jobs[outers[F], *outers[F]]](&outers32, &outers64).Run((k+o.rowsPerBlock()-1)/o.rowsPerBlock(), o)
}

var (
	outers32 simd.Jobs[outers[float32], *outers[float32]]
	outers64 simd.Jobs[outers[float64], *outers[float64]]
)

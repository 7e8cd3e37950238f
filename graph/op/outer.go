package op

import (
	"sync"

	"calibra/graph/simd"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

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

func (OuterOp) Signature() []Kind { return []Kind{Matrix, Matrix, Matrix} }

func (OuterOp) Shape(in []tensor.Shape) (tensor.Shape, error) {
	if in[0][0] != in[1][0] {
		return nil, errShapes
	}
	return tensor.Shape{in[0][0], in[0][1] * in[1][1]}, nil
}

func (OuterOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	if IsFloat32(out) {
		runOuter(simd.Outer, out, in[0], in[1])
	} else {
		eachOuter(outerRow[float64], out, in[0], in[1])
	}
}

func outerRow[F Float](m, a, b []F) {
	for i, x := range a {
		row := m[i*len(b) : (i+1)*len(b)]
		for j, y := range b {
			row[j] = x * y
		}
	}
}

func (OuterOp) WRT() []bool { return []bool{true, true} }

func (OuterOp) Grad(in gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c Grads
	da := c.Apply(OuterLeft(), g, in[1])
	db := c.Apply(OuterRight(), g, in[0])
	return gorgonia.Nodes{da, db}, c.Err
}

// OuterLeftOp is the op of [OuterLeft].
type OuterLeftOp struct{}

func (OuterLeftOp) Signature() []Kind { return []Kind{Matrix, Matrix, Matrix} }

func (OuterLeftOp) Shape(in []tensor.Shape) (tensor.Shape, error) { return contracted(in) }

func (OuterLeftOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	if IsFloat32(out) {
		runOuter(leftRow32, in[0], out, in[1])
	} else {
		eachOuter(leftRow[float64], in[0], out, in[1])
	}
}

func leftRow[F Float](g, y, b []F) {
	for i := range y {
		y[i] = dot(g[i*len(b):(i+1)*len(b)], b)
	}
}

func leftRow32(g, y, b []float32) {
	for i := range y {
		y[i] = simd.Dot(g[i*len(b):(i+1)*len(b)], b)
	}
}

func (OuterLeftOp) WRT() []bool { return []bool{true, true} }

func (OuterLeftOp) Grad(in gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c Grads
	dg := c.Apply(Outer(), g, in[1])
	db := c.Apply(OuterRight(), in[0], g)
	return gorgonia.Nodes{dg, db}, c.Err
}

// OuterRightOp is the op of [OuterRight].
type OuterRightOp struct{}

func (OuterRightOp) Signature() []Kind { return []Kind{Matrix, Matrix, Matrix} }

func (OuterRightOp) Shape(in []tensor.Shape) (tensor.Shape, error) { return contracted(in) }

func (OuterRightOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	if IsFloat32(out) {
		runOuter(rightRow32, in[0], in[1], out)
	} else {
		eachOuter(rightRow[float64], in[0], in[1], out)
	}
}

func rightRow[F Float](g, a, y []F) {
	clear(y)
	for i, x := range a {
		for j, v := range g[i*len(y) : (i+1)*len(y)] {
			y[j] += x * v
		}
	}
}

func rightRow32(g, a, y []float32) {
	clear(y)
	for i, x := range a {
		simd.Axpy(y, x, g[i*len(y):(i+1)*len(y)])
	}
}

func (OuterRightOp) WRT() []bool { return []bool{true, true} }

func (OuterRightOp) Grad(in gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c Grads
	dg := c.Apply(Outer(), in[1], g)
	da := c.Apply(OuterLeft(), in[0], g)
	return gorgonia.Nodes{dg, da}, c.Err
}

// contracted is the shape of K×(C·D) contracted with K×C or K×D.
func contracted(in []tensor.Shape) (tensor.Shape, error) {
	if in[0][0] != in[1][0] || in[0][1]%in[1][1] != 0 {
		return nil, errShapes
	}
	return tensor.Shape{in[0][0], in[0][1] / in[1][1]}, nil
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

func (o *outers[F]) blocks() int { return (len(o.a)/o.c + o.rowsPerBlock() - 1) / o.rowsPerBlock() }

func eachOuter(of func(m, a, b []float64), m, a, b gorgonia.Value) {
	o := &outers[float64]{of, Values[float64](m), Values[float64](a), Values[float64](b), columns(a), columns(b)}
	for i := range o.blocks() {
		o.Block(i)
	}
}

// runOuter borrows the memory of its work, so that a step does not allocate.
func runOuter(of func(m, a, b []float32), m, a, b gorgonia.Value) {
	o := outersOf32.Get().(*outers[float32])
	*o = outers[float32]{of, Values[float32](m), Values[float32](a), Values[float32](b), columns(a), columns(b)}
	simd.Run(o.blocks(), o)
	*o = outers[float32]{}
	outersOf32.Put(o)
}

var outersOf32 = sync.Pool{New: func() any { return new(outers[float32]) }}

package op

import (
	"gonum.org/v1/gonum/blas"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Products of multi-head attention (Vaswani et al. 2017). B sequences lie below
// each other, the tokens of each in order; the columns of a token divide into h
// heads of equal width. Q is (B·S)×d, K and V are (B·T)×d, and P, one number for
// every pair of tokens in every head, is (B·h·S)×T:
//
//	HeadScores   P_bh(s,t) = Σ_k q_bh(s,k) k_bh(t,k)
//	HeadMix      y_bh(s,k) = Σ_t P_bh(s,t) v_bh(t,k)
//	HeadMixBack  y_bh(t,k) = Σ_s P_bh(s,t) x_bh(s,k)
//
// Each one's derivatives are products of the same kind. Gorgonia's batched product
// takes the slices of the batch one by one through its generic tensor code
// (upstream issue 368).

// HeadScores is P from Q and K.
func HeadScores(heads, b int) Op { return Op{HeadScoresOp{heads, b}} }

// HeadMix is Y ((B·S)×d) from P and V.
func HeadMix(heads, b int) Op { return Op{HeadMixOp{heads, b}} }

// HeadMixBack is Y ((B·T)×d) from P and X ((B·S)×d).
func HeadMixBack(heads, b int) Op { return Op{HeadMixBackOp{heads, b}} }

// headed is one of the products over B sequences.
type headed struct{ Heads, B int }

func (headed) Signature() []Kind { return []Kind{Matrix, Matrix, Matrix} }

func (h headed) fits(width, rows int) bool { return width%h.Heads == 0 && rows%h.B == 0 }

// HeadScoresOp is the op of [HeadScores].
type HeadScoresOp headed

func (o HeadScoresOp) Signature() []Kind { return headed(o).Signature() }

func (o HeadScoresOp) Shape(in []tensor.Shape) (tensor.Shape, error) {
	q, k := in[0], in[1]
	if q[1] != k[1] || !headed(o).fits(q[1], q[0]) || !headed(o).fits(k[1], k[0]) {
		return nil, errShapes
	}
	return tensor.Shape{q[0] * o.Heads, k[0] / o.B}, nil
}

func (o HeadScoresOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	s, t, d := in[0].Shape()[0]/o.B, in[1].Shape()[0]/o.B, columns(in[0])
	if IsFloat32(out) {
		scoreHeads(headed(o), s, t, d, Values[float32](out), Values[float32](in[0]), Values[float32](in[1]))
	} else {
		scoreHeads(headed(o), s, t, d, Values[float64](out), Values[float64](in[0]), Values[float64](in[1]))
	}
}

func scoreHeads[F Float](o headed, s, t, d int, p, q, k []F) {
	width := d / o.Heads
	parallel(o.B, func(b int) {
		for h := range o.Heads {
			gemm(blas.NoTrans, blas.Trans, s, t, width, q[b*s*d+h*width:], d, k[b*t*d+h*width:], d, 0, p[(b*o.Heads+h)*s*t:], t)
		}
	})
}

func (HeadScoresOp) WRT() []bool { return []bool{true, true} }

func (o HeadScoresOp) Grad(in gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c Grads
	return gorgonia.Nodes{c.Apply(Op{HeadMixOp(o)}, g, in[1]), c.Apply(HeadMixBack(o.Heads, o.B), g, in[0])}, c.Err
}

// HeadMixOp is the op of [HeadMix].
type HeadMixOp headed

func (o HeadMixOp) Signature() []Kind { return headed(o).Signature() }

func (o HeadMixOp) Shape(in []tensor.Shape) (tensor.Shape, error) {
	p, v := in[0], in[1]
	if p[1]*o.B != v[0] || p[0]%(o.B*o.Heads) != 0 || !headed(o).fits(v[1], v[0]) {
		return nil, errShapes
	}
	return tensor.Shape{p[0] / o.Heads, v[1]}, nil
}

func (o HeadMixOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	s, t, d := out.Shape()[0]/o.B, columns(in[0]), columns(out)
	if IsFloat32(out) {
		mixHeads(headed(o), s, t, d, Values[float32](out), Values[float32](in[0]), Values[float32](in[1]))
	} else {
		mixHeads(headed(o), s, t, d, Values[float64](out), Values[float64](in[0]), Values[float64](in[1]))
	}
}

func mixHeads[F Float](o headed, s, t, d int, y, p, v []F) {
	width := d / o.Heads
	parallel(o.B, func(b int) {
		for h := range o.Heads {
			gemm(blas.NoTrans, blas.NoTrans, s, width, t, p[(b*o.Heads+h)*s*t:], t, v[b*t*d+h*width:], d, 0, y[b*s*d+h*width:], d)
		}
	})
}

func (HeadMixOp) WRT() []bool { return []bool{true, true} }

func (o HeadMixOp) Grad(in gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c Grads
	return gorgonia.Nodes{c.Apply(Op{HeadScoresOp(o)}, g, in[1]), c.Apply(HeadMixBack(o.Heads, o.B), in[0], g)}, c.Err
}

// HeadMixBackOp is the op of [HeadMixBack].
type HeadMixBackOp headed

func (o HeadMixBackOp) Signature() []Kind { return headed(o).Signature() }

func (o HeadMixBackOp) Shape(in []tensor.Shape) (tensor.Shape, error) {
	p, x := in[0], in[1]
	if p[0] != x[0]*o.Heads || !headed(o).fits(x[1], x[0]) {
		return nil, errShapes
	}
	return tensor.Shape{p[1] * o.B, x[1]}, nil
}

func (o HeadMixBackOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	s, t, d := in[1].Shape()[0]/o.B, columns(in[0]), columns(out)
	if IsFloat32(out) {
		mixHeadsBack(headed(o), s, t, d, Values[float32](out), Values[float32](in[0]), Values[float32](in[1]))
	} else {
		mixHeadsBack(headed(o), s, t, d, Values[float64](out), Values[float64](in[0]), Values[float64](in[1]))
	}
}

func mixHeadsBack[F Float](o headed, s, t, d int, y, p, x []F) {
	width := d / o.Heads
	parallel(o.B, func(b int) {
		for h := range o.Heads {
			gemm(blas.Trans, blas.NoTrans, t, width, s, p[(b*o.Heads+h)*s*t:], t, x[b*s*d+h*width:], d, 0, y[b*t*d+h*width:], d)
		}
	})
}

func (HeadMixBackOp) WRT() []bool { return []bool{true, true} }

func (o HeadMixBackOp) Grad(in gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c Grads
	return gorgonia.Nodes{c.Apply(Op{HeadScoresOp(o)}, in[1], g), c.Apply(Op{HeadMixOp(o)}, in[0], g)}, c.Err
}

package onnx

import (
	"slices"

	"calibra/graph"
	"calibra/graph/op"
)

// nearby are the codes of the m codewords c nearest to each slot of z (B×M), as [op.Nearby] finds them, the first of
// equals. Codewords are compared in float64 by z·c_k − ½‖c_k‖², which orders them as distances do: the product of (z,
// 1) and (c_k, −½‖c_k‖²). Of numbers of float32 its rounding is far below theirs. In ONNX Runtime 1.32 this product and
// its ArgMax are 4.1 of the 4.9 µs of one thread that vq-nc needs for a row (w = K = 64, d = 8, AVX-512), about half of
// what vq needs; Gemm, with ½‖c_k‖² as its C, takes 6.8, MaxPool and TopK more than ArgMax.
func (g *Network) nearby(m int, z, c Operand) Value {
	d, k := int(c.Columns()), int(c.Shape[0])
	w, words := z.Columns()/int64(d), graph.Float64s(c.Constant)
	book := make([]float64, (d+1)*k) // (d+1)×K, the words as columns with −½‖c_k‖² below
	for j := range k {
		for l, x := range words[j*d:][:d] {
			book[l*k+j] = x
			book[d*k+j] -= x * x / 2
		}
	}
	ended := g.Concat(2, g.Reshape(z.Value, -1, w, int64(d)), filled(g, z.Value, 1.0, w, 1)) // B×w×(d+1)
	scores := g.MatMul(g.Reshape(ended, -1, int64(d)+1), Table(g, book, d+1, k))             // (B·w)×K
	return g.Reshape(g.largest(scores, m), -1, w*int64(m))
}

// largest are the places of the n largest of each row of a matrix, the first of equals first.
func (g *Network) largest(x Value, n int) Value {
	if n == 1 {
		return g.Node("ArgMax", []Value{x}, Int("axis", 1), Int("keepdims", 1), Int("select_last_index", 0))
	}
	values, places := g.name("TopK"), g.name("TopK")
	g.add("TopK", []Value{x, g.Indices(int64(n))}, []Value{values, places}, Int("axis", -1), Int("largest", 1), Int("sorted", 1))
	return places
}

// part is what lies in [from, to) of an axis.
func (g *Network) part(x Value, axis, from, to int64) Value {
	return g.Node("Slice", []Value{x, g.Indices(from), g.Indices(to), g.Indices(axis)})
}

// filled has a number in each place of as many rows as like has: B×shape.
func filled[T float32 | float64](g *Network, like Value, number T, shape ...int64) Value {
	rows := g.part(g.Node("Shape", []Value{like}), 0, 0, 1)
	return g.Node("ConstantOfShape", []Value{g.Concat(0, rows, g.Indices(shape...))}, Attribute{"value", arrayOf([]T{number}, 1)})
}

// nearShares are the shares of the m codes of each slot, as [op.NearShares] has them:
// e_k ∝ exp(−(D_k − D_1)/τ), those below a fiftieth of all left out.
func (g *Network) nearShares(m int, in []Operand) Value {
	z, c, tau, d := in[0], in[1], in[3].Value, in[1].Columns()
	w, n := z.Columns()/d, int64(m)
	only := Table(g, slices.Concat([]float64{1}, make([]float64, m-1)), 1, 1, m)
	apart := g.Sub(g.Reshape(z.Value, -1, w, 1, d), g.Gather(c.Value, g.Reshape(in[2].Value, -1, w, n))) // B×w×m×d
	distance := g.Sum(g.Mul(apart, apart), 3, 0)
	least := g.part(distance, 2, 0, 1)
	soft := g.Exp(g.Neg(g.Div(g.Max(g.Sub(distance, least), g.Scalar(0)), tau)))
	some := g.Node("Greater", []Value{tau, g.Scalar(0)})
	e := g.Max(g.Where(some, soft, g.Scalar(0)), only)
	small := g.Node("Less", []Value{e, g.Mul(g.Sum(e, 2, 1), g.Scalar(op.LeastShare))})
	e = g.Where(small, only, e) // e_1 is 1 and stays
	return g.Reshape(g.Div(e, g.Sum(e, 2, 1)), -1, w*n)
}

package onnx

import (
	"slices"

	"calibra/graph"
	"calibra/graph/op"
)

// nearby are the codes of each slot of z (B×M) by codewords c, as [op.Nearby] finds them, the
// first of equals. Codewords are compared in float64 by z·c_k − ½‖c_k‖², which orders them as
// distances do: the product of (z, 1) and (c_k, −½‖c_k‖²). Of numbers of float32 its rounding is
// far below theirs.
func (g *Network) nearby(b op.Books, z, c Operand) Value {
	d := c.Columns()
	w, words := z.Columns()/d, graph.Float64s(c.Constant)
	each := int64(c.Shape[0]) / int64(b.Stages)
	if b.Apart {
		each /= w
	}
	rest := g.Reshape(z.Value, -1, w, d)
	one := filled(g, z.Value, 1.0, w, 1)
	var codes []Value
	for stage := range int64(b.Stages) {
		ended := g.Concat(2, rest, one) // B×w×(d+1)
		var found Value
		if b.Apart {
			scores := g.MatMul(g.turn(ended), Table(g, books(words, int(w), int(d)), int(w), int(d)+1, int(each))) // w×B×each
			found = g.Add(g.turn(g.largest(scores, 2, b.Nearest)), Table(g, multiples(int(w), each), 1, int(w), 1))
		} else {
			book := books(words[stage*each*d:(stage+1)*each*d], 1, int(d))
			scores := g.MatMul(g.Reshape(ended, -1, d+1), Table(g, book, int(d)+1, int(each))) // (B·w)×each
			found = g.Reshape(g.largest(scores, 1, b.Nearest), -1, w, int64(b.Nearest))
			if stage > 0 {
				found = g.Add(found, g.Indices(stage*each))
			}
		}
		codes = append(codes, found) // B×w×Nearest
		if stage+1 < int64(b.Stages) {
			rest = g.Sub(rest, g.Reshape(g.Gather(c.Value, g.part(found, 2, 0, 1)), -1, w, d))
		}
	}
	return g.Reshape(g.Concat(2, codes...), -1, w*int64(b.Codes()))
}

// books are n books of words of d numbers, the words as columns with −½‖c_k‖² below: n×(d+1)×K.
func books(words []float64, n, d int) []float64 {
	k := len(words) / (n * d)
	out := make([]float64, n*(d+1)*k)
	for i := range n {
		book := out[i*(d+1)*k:][:(d+1)*k]
		for j := range k {
			norm := 0.0
			for l, x := range words[(i*k+j)*d:][:d] {
				book[l*k+j] = x
				norm += x * x
			}
			book[d*k+j] = -norm / 2
		}
	}
	return out
}

// largest are the places of the n largest along the last axis, which is that of the number given:
// the first of equals first.
func (g *Network) largest(x Value, axis, n int) Value {
	if n == 1 {
		return g.Node("ArgMax", []Value{x}, Int("axis", axis), Int("keepdims", 1), Int("select_last_index", 0))
	}
	values, places := g.name("TopK"), g.name("TopK")
	g.add("TopK", []Value{x, g.Indices(int64(n))}, []Value{values, places}, Int("axis", -1), Int("largest", 1), Int("sorted", 1))
	return places
}

// turn exchanges the first two axes of three.
func (g *Network) turn(x Value) Value { return g.Node("Transpose", []Value{x}, Ints("perm", 1, 0, 2)) }

// part is what lies in [from, to) of an axis.
func (g *Network) part(x Value, axis, from, to int64) Value {
	return g.Node("Slice", []Value{x, g.Indices(from), g.Indices(to), g.Indices(axis)})
}

// filled has a number in each place of as many rows as like has: B×shape.
func filled[T float32 | float64](g *Network, like Value, number T, shape ...int64) Value {
	rows := g.part(g.Node("Shape", []Value{like}), 0, 0, 1)
	value := tensorAttribute("value", tensorOf("", []T{number}, 1))
	return g.Node("ConstantOfShape", []Value{g.Concat(0, rows, g.Indices(shape...))}, value)
}

// nearShares are the shares of the codes of each slot, as [op.NearShares] has them:
// e_k ∝ exp(−(D_k − D_1)/τ), those below a fiftieth of all left out.
func (g *Network) nearShares(b op.Books, in []Operand) Value {
	z, c, d := in[0], in[1], in[1].Columns()
	w, n := z.Columns()/d, int64(b.Nearest)
	all := g.Reshape(in[2].Value, -1, w, int64(b.Codes()))
	only := Table(g, slices.Concat([]float64{1}, make([]float64, n-1)), 1, 1, int(n))
	rest := g.Reshape(z.Value, -1, w, 1, d)
	var shares []Value
	for stage := range int64(b.Stages) {
		begin := stage * n
		apart := g.Sub(rest, g.Gather(c.Value, g.part(all, 2, begin, begin+n))) // B×w×n×d
		distance := g.Sum(g.Mul(apart, apart), 3, 0)
		least := g.part(distance, 2, 0, 1)
		tau := g.Gather(in[3].Value, g.Indices(stage))
		soft := g.Exp(g.Neg(g.Div(g.Max(g.Sub(distance, least), g.Scalar(0)), tau)))
		some := g.Node("Greater", []Value{tau, g.Scalar(0)})
		e := g.Max(g.Where(some, soft, g.Scalar(0)), only)
		small := g.Node("Less", []Value{e, g.Mul(g.Sum(e, 2, 1), g.Scalar(op.LeastShare))})
		e = g.Where(small, only, e) // e_1 is 1 and stays
		shares = append(shares, g.Div(e, g.Sum(e, 2, 1)))
		rest = g.part(apart, 2, 0, 1)
	}
	return g.Reshape(g.Concat(2, shares...), -1, w*int64(b.Codes()))
}

// leaves are the leaves of the trees of each slot of z (B×M), as [op.Leaves] finds them, compared
// in float32 as calibra apply does.
func (g *Network) leaves(z, columns, edges Operand) Value {
	w, levels := int(columns.Shape[0]), int(columns.Columns())
	d := int64(z.Columns()) / int64(w)
	index, weights := make([]int64, w*levels), make([]int64, w*levels)
	for l, j := range graph.Float64s(columns.Constant) {
		index[l], weights[l] = int64(l/levels)*d+min(max(int64(j), 0), d-1), 1<<(levels-1-l%levels)
	}
	asked := g.Node("Gather", []Value{g.Cast(z.Value, Single), g.Indices(index...)}, Int("axis", 1))
	above := g.Node("Greater", []Value{asked, g.Cast(g.Reshape(edges.Value, 1, -1), Single)})
	bits := g.Mul(g.Cast(above, Int64), Table(g, weights, 1, w*levels))
	return g.Add(g.Sum(g.Reshape(bits, -1, int64(w), int64(levels)), 2, 0), Table(g, multiples(w, 1<<levels), 1, w))
}

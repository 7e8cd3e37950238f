package onnx

import "calibra/graph/op"

// nearby are the codes of each slot of z (B×M) by codewords c, as [op.Nearby] finds them, in
// float32 by differences: the first of equals.
func (g *Network) nearby(b op.Books, z, c Operand) Value {
	var codes []Value
	g.eachStage(b, z, c, Single, func(stage int, rest, words, first Value) Value {
		apart := g.Sub(rest, words)
		distance := g.Sum(g.Mul(apart, apart), 3, 0) // B×w×each
		near := ""
		if b.Nearest == 1 {
			near = g.Node("ArgMin", []Value{distance}, Int("axis", 2), Int("keepdims", 1), Int("select_last_index", 0))
		} else {
			near = g.topK(distance, b.Nearest)
		}
		codes = append(codes, g.Add(near, first))
		return g.Node("Slice", []Value{codes[stage], g.Indices(0), g.Indices(1), g.Indices(2)})
	})
	slots := z.Columns() / c.Columns()
	return g.Reshape(g.Concat(2, codes...), -1, slots*int64(b.Codes()))
}

// eachStage visits the stages of codes with what the earlier ones leave of each slot (B×w×1×d),
// the codewords of the stage (1×w×each×d, or 1×1×each×d of all slots alike), and what is to be
// added to the number of a codeword among these. visit gives the nearest codeword (B×w×1).
func (g *Network) eachStage(b op.Books, z, c Operand, kind Element, visit func(stage int, rest, words, first Value) Value) {
	k, d := int64(c.Shape[0]), c.Columns()
	w := z.Columns() / d
	rest, table := g.Reshape(g.Cast(z.Value, kind), -1, w, 1, d), g.Cast(c.Value, kind)
	each := k / int64(b.Stages)
	if b.Apart {
		each = k / w
	}
	for stage := range b.Stages {
		words, first := "", ""
		if b.Apart {
			begin := make([]int64, w)
			for slot := range begin {
				begin[slot] = int64(slot) * each
			}
			words, first = g.Reshape(table, 1, w, each, d), Table(g, begin, 1, int(w), 1)
		} else {
			book := make([]int64, each)
			for at := range book {
				book[at] = int64(stage)*each + int64(at)
			}
			words, first = g.Reshape(g.Gather(table, g.Indices(book...)), 1, 1, each, d), g.Indices(int64(stage)*each)
		}
		nearest := visit(stage, rest, words, first)
		if stage+1 < b.Stages {
			rest = g.Sub(rest, g.Gather(table, nearest)) // B×w×1×d
		}
	}
}

// topK are the places of the n smallest of the last axis, the first of equals first.
func (g *Network) topK(x Value, n int) Value {
	values, places := g.name("TopK"), g.name("TopK")
	g.nodes = append(g.nodes, nodeOf("", "TopK", []Value{x, g.Indices(int64(n))}, []Value{values, places},
		[]Attribute{Int("axis", -1), Int("largest", 0), Int("sorted", 1)}))
	return places
}

// nearShares are the shares of the codes of each slot, as [op.NearShares] has them:
// e_k ∝ exp(−(D_k − D_1)/τ), those below a fiftieth of all left out.
func (g *Network) nearShares(b op.Books, in []Operand) Value {
	z, c, d := in[0], in[1], in[1].Columns()
	w, n := z.Columns()/d, int64(b.Nearest)
	all := g.Reshape(in[2].Value, -1, w, int64(b.Codes()))
	only := make([]float64, n)
	only[0] = 1
	var shares []Value
	g.eachStage(b, z, c, Double, func(stage int, rest, _, _ Value) Value {
		part := func(from, to int64) Value {
			return g.Node("Slice", []Value{all, g.Indices(from), g.Indices(to), g.Indices(2)})
		}
		begin := int64(stage) * n
		apart := g.Sub(rest, g.Gather(c.Value, part(begin, begin+n))) // B×w×n×d
		distance := g.Sum(g.Mul(apart, apart), 3, 0)
		least := g.Node("Slice", []Value{distance, g.Indices(0), g.Indices(1), g.Indices(2)})
		tau := g.Gather(in[3].Value, g.Indices(int64(stage)))
		soft := g.Exp(g.Neg(g.Div(g.Max(g.Sub(distance, least), g.Scalar(0)), tau)))
		some := g.Node("Greater", []Value{tau, g.Scalar(0)})
		e := g.Max(g.Where(some, soft, g.Scalar(0)), Table(g, only, 1, 1, int(n)))
		small := g.Node("Less", []Value{e, g.Mul(g.Sum(e, 2, 1), g.Scalar(op.LeastShare))})
		e = g.Where(small, Table(g, only, 1, 1, int(n)), e) // e_1 is 1 and stays
		shares = append(shares, g.Div(e, g.Sum(e, 2, 1)))
		return part(begin, begin+1)
	})
	return g.Reshape(g.Concat(2, shares...), -1, w*int64(b.Codes()))
}

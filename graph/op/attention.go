package op

import (
	"fmt"

	"calibra/graph/work"

	"gonum.org/v1/gonum/blas"
)

// Tokens turns each number of a row into a vector (Gorishniy et al. 2021, feature
// tokenizer): of X (B×F) and W (F×d) the B×(F·d) matrix
//
//	t_bf = x_bf w_f
func Tokens() Op { return Op{TokensOp{}} }

// TokensOp is the op of [Tokens].
type TokensOp struct{}

func (TokensOp) Form() string                { return "B F, F d -> B F*d" }
func (o TokensOp) Run(out Value, in []Value) { Dispatch(o, out, in, tokens, tokens) }

func tokens[F Float](_ TokensOp, v Args[F]) {
	out, x, w, features, d := v.Out(), v.In(0), v.In(1), v.Columns(0), v.Columns(1)
	work.Ranges(len(x)/features, rowBlock, func(lo, hi int) {
		for i := lo * features; i < hi*features; i++ {
			f := i % features
			scaleTo(out[i*d:(i+1)*d], w[f*d:(f+1)*d], x[i])
		}
	})
}

func (TokensOp) Grad(in Nodes, _, g *Node) Nodes {
	return Nodes{Op{TokenInputsOp{}}.Of(in[1], g), Op{TokenWeightsOp{}}.Of(in[0], g)}
}

// TokenInputsOp is Σ_k w_fk g_bfk: ∂L/∂x, from W and G.
type TokenInputsOp struct{}

func (TokenInputsOp) Form() string                { return "F d, B F*d -> B F" }
func (o TokenInputsOp) Run(out Value, in []Value) { Dispatch(o, out, in, tokenInputs, tokenInputs) }

func tokenInputs[F Float](_ TokenInputsOp, v Args[F]) {
	dx, w, g, d, features := v.Out(), v.In(0), v.In(1), v.Columns(0), v.Shape(0)[0]
	for i := range dx {
		f := i % features
		dx[i] = centredProduct(w[f*d:(f+1)*d], 0, g[i*d:(i+1)*d])
	}
}

// TokenWeightsOp is Σ_b x_bf g_bf: ∂L/∂w_f, from X and G.
type TokenWeightsOp struct{}

func (TokenWeightsOp) Form() string                { return "B F, B G -> F G/F" }
func (o TokenWeightsOp) Run(out Value, in []Value) { Dispatch(o, out, in, tokenWeights, tokenWeights) }

func tokenWeights[F Float](_ TokenWeightsOp, v Args[F]) {
	dw, g, features := v.Out(), v.In(1), v.Columns(0)
	clear(dw)
	d := len(dw) / features
	for i, x := range v.In(0) {
		f := i % features
		row := dw[f*d : (f+1)*d]
		for k, y := range g[i*d : (i+1)*d] {
			row[k] += x * y
		}
	}
}

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

// headed is the heads of B sequences.
type headed struct{ Heads, B int }

// each calls f for every head of every sequence, those of a sequence in order: x is its place
// among the sequences, p that among all heads, and at its first column of wide ones.
func (h headed) each(wide int, f func(x, p, at int)) {
	work.Each(h.B, 1, func(b int) {
		for head := range h.Heads {
			f(b, b*h.Heads+head, head*(wide/h.Heads))
		}
	})
}

// HeadScoresOp is the op of [HeadScores].
type HeadScoresOp headed

func (o HeadScoresOp) Form() string {
	return fmt.Sprintf("Q d, K d -> Q*%[1]d K/%[2]d where Q/%[2]d d/%[1]d", o.Heads, o.B)
}

func (o HeadScoresOp) Run(out Value, in []Value) { Dispatch(o, out, in, scoreHeads, scoreHeads) }

func scoreHeads[F Float](o HeadScoresOp, v Args[F]) {
	p, q, k := v.Out(), v.In(0), v.In(1)
	s, t, d := v.Shape(0)[0]/o.B, v.Shape(1)[0]/o.B, v.Columns(0)
	headed(o).each(d, func(b, head, at int) {
		gemm(blas.NoTrans, blas.Trans, s, t, d/o.Heads, q[b*s*d+at:], d, k[b*t*d+at:], d, 0, p[head*s*t:], t)
	})
}

func (o HeadScoresOp) Grad(in Nodes, _, g *Node) Nodes {
	return Nodes{Op{HeadMixOp(o)}.Of(g, in[1]), Op{HeadMixBackOp(o)}.Of(g, in[0])}
}

// HeadMixOp is the op of [HeadMix].
type HeadMixOp headed

func (o HeadMixOp) Form() string {
	return fmt.Sprintf("P T, T*%[2]d d -> P/%[1]d d where P/%[3]d d/%[1]d", o.Heads, o.B, o.Heads*o.B)
}

func (o HeadMixOp) Run(out Value, in []Value) { Dispatch(o, out, in, mixHeads, mixHeads) }

func mixHeads[F Float](o HeadMixOp, v Args[F]) {
	y, p, x := v.Out(), v.In(0), v.In(1)
	s, t, d := v.OutShape()[0]/o.B, v.Columns(0), v.Columns(1)
	headed(o).each(d, func(b, head, at int) {
		gemm(blas.NoTrans, blas.NoTrans, s, d/o.Heads, t, p[head*s*t:], t, x[b*t*d+at:], d, 0, y[b*s*d+at:], d)
	})
}

func (o HeadMixOp) Grad(in Nodes, _, g *Node) Nodes {
	return Nodes{Op{HeadScoresOp(o)}.Of(g, in[1]), Op{HeadMixBackOp(o)}.Of(in[0], g)}
}

// HeadMixBackOp is the op of [HeadMixBack].
type HeadMixBackOp headed

func (o HeadMixBackOp) Form() string {
	return fmt.Sprintf("X*%[1]d T, X d -> T*%[2]d d where X/%[2]d d/%[1]d", o.Heads, o.B)
}

func (o HeadMixBackOp) Run(out Value, in []Value) { Dispatch(o, out, in, mixHeadsBack, mixHeadsBack) }

func mixHeadsBack[F Float](o HeadMixBackOp, v Args[F]) {
	y, p, x := v.Out(), v.In(0), v.In(1)
	s, t, d := v.Shape(1)[0]/o.B, v.Columns(0), v.Columns(1)
	headed(o).each(d, func(b, head, at int) {
		gemm(blas.Trans, blas.NoTrans, t, d/o.Heads, s, p[head*s*t:], t, x[b*s*d+at:], d, 0, y[b*t*d+at:], d)
	})
}

func (o HeadMixBackOp) Grad(in Nodes, _, g *Node) Nodes {
	return Nodes{Op{HeadScoresOp(o)}.Of(in[1], g), Op{HeadMixOp(o)}.Of(in[0], g)}
}

package op

import (
	"fmt"

	"calibra/graph/simd"
	"calibra/graph/work"
)

// The moving averages of a codebook (van den Oord et al. 2017, appendix A.1):
//
//	m_k ← γ m_k + (1−γ) |{(b,i): s(b,i) = k}|     counts, by Count and Blend
//	T_k ← γ T_k + (1−γ) Σ_{s(b,i)=k} z_b⁽ⁱ⁾         sums, by ScatterAdd and Blend
//	c_k = T_k / (m_k + ε)                          codewords, by Normalize
//
// None of them is differentiated.

// Count counts how often each of K codewords occurs in codes (B×w): a vector (K)
// of the shape and type of its second input, the running counts m.
func Count() Op { return Op{CountOp{}} }

// Blend is γ·old + (1−γ)·fresh for two tensors of one shape with dims dimensions.
func Blend(dims int, decay float64) Op { return Op{BlendOp{Kind{Dims: dims}, decay}} }

// Normalize divides row k of the sums (K×d) by the count m_k + ε.
func Normalize(eps float64) Op { return Op{NormalizeOp{Eps: eps}} }

// CountOp is the op of [Count].
type CountOp struct{}

func (CountOp) Form() string                { return "int B w, K -> K" }
func (o CountOp) Run(out Value, in []Value) { Dispatch(o, out, in, countCodes, countCodes) }

func countCodes[F Float](_ CountOp, v Args[F]) {
	m := v.Out()
	clear(m)
	for _, k := range v.Ints(0) {
		m[k]++
	}
}

// BlendOp is the op of [Blend].
type BlendOp struct {
	Of    Kind
	Decay float64
}

func (o BlendOp) Form() string              { return Alike(o.Of, 2) }
func (o BlendOp) Run(out Value, in []Value) { Dispatch(o, out, in, blend, blend) }

func blend[F Float](o BlendOp, v Args[F]) {
	out, fresh, keep, add := v.Out(), v.In(1), F(o.Decay), F(1-o.Decay)
	for i, old := range v.In(0) {
		out[i] = keep*old + add*fresh[i]
	}
}

// NormalizeOp is the op of [Normalize].
type NormalizeOp struct{ Eps float64 }

func (NormalizeOp) Form() string                { return "K d, K -> K d" }
func (o NormalizeOp) Run(out Value, in []Value) { Dispatch(o, out, in, normalize, normalize) }

func normalize[F Float](o NormalizeOp, v Args[F]) {
	c, sums, d := v.Out(), v.In(0), v.Columns(0)
	for k, m := range v.In(1) {
		for j := k * d; j < (k+1)*d; j++ {
			c[j] = sums[j] / (m + F(o.Eps))
		}
	}
}

// Gather selects rows of a table (K×d) by codes (B×w) and lays the w rows of a
// sample side by side: q = [c_s(1), …, c_s(w)], a B×(w·d) matrix. Its gradient
// by the table is [ScatterAdd].
func Gather() Op { return Op{GatherOp{}} }

// ScatterAdd is the transpose of Gather: from codes (B×w) and x (B×(w·d)) it adds the w
// pieces of each row of x to the rows of a K×d table that the codes name,
//
//	T_k = Σ_{b,i: s(b,i)=k} x_b⁽ⁱ⁾
//
// With x the features this is the sum of the slots assigned to each codeword,
// the quantity whose moving average makes a codebook.
func ScatterAdd(k int) Op { return Op{ScatterAddOp{K: k}} }

// GatherOp is the op of [Gather].
type GatherOp struct{}

func (GatherOp) Form() string                { return "K d, int B w -> B w*d" }
func (o GatherOp) Run(out Value, in []Value) { Dispatch(o, out, in, gather32, gather64) }

func gather32(_ GatherOp, v Args[float32]) {
	s := v.Ints(1)
	gathers.Run((len(s)+gatherSlots-1)/gatherSlots, gather{v.Out(), v.In(0), s, v.Columns(0)})
}

func gather64(_ GatherOp, v Args[float64]) {
	takeRows(v.Out(), v.In(0), v.Ints(1), v.Columns(0))
}

// gather is one float32 gather in flight, cut by slots.
type gather struct {
	q, table []float32
	codes    []int32
	d        int
}

// gatherSlots is how many slots a block copies, some 10 µs of work.
const gatherSlots = 1024

func (j *gather) Block(i int) {
	lo := i * gatherSlots
	hi := min(lo+gatherSlots, len(j.codes))
	simd.TakeRows(j.q[lo*j.d:hi*j.d], j.table, j.codes[lo:hi], j.d)
}

var gathers work.Jobs[gather, *gather]

func (GatherOp) Grad(in Nodes, _, g *Node) Nodes {
	return Nodes{ScatterAdd(in[0].Shape()[0]).Of(in[1], g), nil}
}

// ScatterAddOp is the op of [ScatterAdd].
type ScatterAddOp struct{ K int }

func (o ScatterAddOp) Form() string              { return fmt.Sprintf("int B w, B M -> %d M/w", o.K) }
func (o ScatterAddOp) Run(out Value, in []Value) { Dispatch(o, out, in, scatterRows, scatterRows) }

func scatterRows[F Float](_ ScatterAddOp, v Args[F]) {
	clear(v.Out())
	addSlots(v.Out(), v.In(1), v.Ints(0), v.OutShape()[1])
}

// addSlots adds the i-th piece of x to the row of table that s[i] names.
func addSlots[F Float](table, x []F, s []int32, d int) {
	for i, k := range s {
		row := table[int(k)*d : (int(k)+1)*d]
		for j, v := range x[i*d : (i+1)*d] {
			row[j] += v
		}
	}
}

func (ScatterAddOp) Grad(in Nodes, _, g *Node) Nodes { return Nodes{nil, Gather().Of(g, in[0])} }

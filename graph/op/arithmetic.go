package op

import (
	"fmt"

	"calibra/graph/work"
)

// Plus is the sum x + y of two tensors of one shape with dims dimensions.
func Plus(dims int) Op { return Op{PlusOp{Kind{Dims: dims}}} }

// Times is the elementwise product x ⊙ y of two tensors of one shape with dims
// dimensions.
func Times(dims int) Op { return Op{TimesOp{Kind{Dims: dims}}} }

// Scale is c·x for a constant c and a tensor of dims dimensions.
func Scale(dims int, c float64) Op { return Op{ScaleOp{Kind{Dims: dims}, c}} }

// PlusOp is the op of [Plus].
type PlusOp struct{ Of Kind }

func (o PlusOp) Form() string              { return AlikeByRow(o.Of, 2) }
func (o PlusOp) Run(out Value, in []Value) { Dispatch(o, out, in, add, add) }

func add[F Float](_ PlusOp, v Args[F]) {
	out, x, y := v.Out(), v.In(0), v.In(1)
	work.Ranges(len(x), few, func(lo, hi int) {
		dst, other := out[lo:hi], y[lo:hi]
		for i, v := range x[lo:hi] {
			dst[i] = v + other[i]
		}
	})
}

func (PlusOp) Grad(_ Nodes, _, g *Node) Nodes { return Nodes{g, g} }

// TimesOp is the op of [Times].
type TimesOp struct{ Of Kind }

func (o TimesOp) Form() string              { return AlikeByRow(o.Of, 2) }
func (o TimesOp) Run(out Value, in []Value) { Dispatch(o, out, in, multiply, multiply) }

// multiply takes y again and again for all of x.
func multiply[F Float, K any](_ K, v Args[F]) {
	out, x, y := v.Out(), v.In(0), v.In(1)
	for at := 0; at < len(x); at += len(y) {
		row := out[at : at+len(y)]
		for j, z := range x[at : at+len(y)] {
			row[j] = z * y[j]
		}
	}
}

func (o TimesOp) Grad(in Nodes, _, g *Node) Nodes {
	return Nodes{Op{o}.Of(g, in[1]), Op{o}.Of(g, in[0])}
}

// ScaleOp is the op of [Scale].
type ScaleOp struct {
	Of Kind
	C  float64
}

func (o ScaleOp) Form() string              { return AlikeByRow(o.Of, 1) }
func (o ScaleOp) Run(out Value, in []Value) { Dispatch(o, out, in, scale, scale) }

func scale[F Float](o ScaleOp, v Args[F]) { scaleTo(v.Out(), v.In(0), F(o.C)) }

func scaleTo[F Float](out, x []F, c F) {
	for i, v := range x {
		out[i] = c * v
	}
}

func (o ScaleOp) Grad(_ Nodes, _, g *Node) Nodes { return Nodes{Op{o}.Of(g)} }

// TimesScalar multiplies every element of X (B×C) by the one element of v (1).
func TimesScalar() Op { return Op{TimesScalarOp{}} }

// Inner is Σ x_ij y_ij of two matrices of one shape, as a vector of one element,
// summed in float64.
func Inner() Op { return Op{InnerOp{}} }

// TimesScalarOp is the op of [TimesScalar].
type TimesScalarOp struct{}

func (TimesScalarOp) Form() string                { return "B C, 1 -> B C" }
func (o TimesScalarOp) Run(out Value, in []Value) { Dispatch(o, out, in, timesScalar, timesScalar) }

func timesScalar[F Float](_ TimesScalarOp, v Args[F]) { scaleTo(v.Out(), v.In(0), v.In(1)[0]) }

func (TimesScalarOp) Grad(in Nodes, _, g *Node) Nodes {
	return Nodes{TimesScalar().Of(g, in[1]), Inner().Of(g, in[0])}
}

// InnerOp is the op of [Inner].
type InnerOp struct{}

func (InnerOp) Form() string                { return "B C, B C -> 1" }
func (o InnerOp) Run(out Value, in []Value) { Dispatch(o, out, in, inner, inner) }

func inner[F Float](_ InnerOp, v Args[F]) {
	y := v.In(1)
	var sum float64
	for i, x := range v.In(0) {
		sum += float64(x) * float64(y[i])
	}
	v.Out()[0] = F(sum)
}

func (InnerOp) Grad(in Nodes, _, g *Node) Nodes {
	return Nodes{TimesScalar().Of(in[1], g), TimesScalar().Of(in[0], g)}
}

// AddRow adds a row vector v (C) to every row of X (B×C).
func AddRow() Op { return Op{AddRowOp{}} }

// SumRows sums the rows of X (B×C) to one vector (C).
func SumRows() Op { return Op{SumRowsOp{}} }

// RepeatRow lays b copies of v (C) below each other, the transpose of [SumRows].
func RepeatRow(b int) Op { return Op{RepeatedRowOp{B: b}} }

// AddRowOp is the op of [AddRow].
type AddRowOp struct{}

func (AddRowOp) Form() string                { return "B C, C -> B C by B" }
func (o AddRowOp) Run(out Value, in []Value) { Dispatch(o, out, in, addRow, addRow) }

func addRow[F Float](_ AddRowOp, v Args[F]) {
	out, x, y, c := v.Out(), v.In(0), v.In(1), v.Columns(0)
	for b := 0; b < len(x); b += c {
		row := out[b : b+c]
		for j, z := range x[b : b+c] {
			row[j] = z + y[j]
		}
	}
}

func (AddRowOp) Grad(_ Nodes, _, g *Node) Nodes { return Nodes{g, SumRows().Of(g)} }

// SumRowsOp is the op of [SumRows].
type SumRowsOp struct{}

func (SumRowsOp) Form() string                { return "B C -> C" }
func (o SumRowsOp) Run(out Value, in []Value) { Dispatch(o, out, in, sumOfRows, sumOfRows) }

func sumOfRows[F Float](_ SumRowsOp, v Args[F]) {
	out, x := v.Out(), v.In(0)
	clear(out)
	c := len(out)
	for b := 0; b < len(x); b += c {
		for j, y := range x[b : b+c] {
			out[j] += y
		}
	}
}

func (SumRowsOp) Grad(in Nodes, _, g *Node) Nodes { return Nodes{RepeatRow(in[0].Shape()[0]).Of(g)} }

// RepeatedRowOp is the op of [RepeatRow].
type RepeatedRowOp struct{ B int }

func (o RepeatedRowOp) Form() string              { return fmt.Sprintf("C -> %d C", o.B) }
func (o RepeatedRowOp) Run(out Value, in []Value) { Dispatch(o, out, in, repeatRow, repeatRow) }

func repeatRow[F Float](_ RepeatedRowOp, v Args[F]) {
	out, x := v.Out(), v.In(0)
	for b := 0; b < len(out); b += len(x) {
		copy(out[b:], x)
	}
}

func (RepeatedRowOp) Grad(_ Nodes, _, g *Node) Nodes { return Nodes{SumRows().Of(g)} }

// TimesRow multiplies every row of X (B×C) by a row vector v (C), elementwise:
// X·diag(v).
func TimesRow() Op { return Op{TimesRowOp{}} }

// Spread repeats the one element of v (1) to a vector of n.
func Spread(n int) Op { return Op{SpreadOp{N: n}} }

// TimesRowOp is the op of [TimesRow].
type TimesRowOp struct{}

func (TimesRowOp) Form() string                { return "B C, C -> B C by B" }
func (o TimesRowOp) Run(out Value, in []Value) { Dispatch(o, out, in, multiply, multiply) }

func (TimesRowOp) Grad(in Nodes, _, g *Node) Nodes {
	return Nodes{TimesRow().Of(g, in[1]), SumRows().Of(Times(2).Of(g, in[0]))}
}

// SpreadOp is the op of [Spread].
type SpreadOp struct{ N int }

func (o SpreadOp) Form() string              { return fmt.Sprintf("1 -> %d", o.N) }
func (o SpreadOp) Run(out Value, in []Value) { Dispatch(o, out, in, spread, spread) }

func spread[F Float](_ SpreadOp, v Args[F]) { fillWith(v.Out(), v.In(0)[0]) }

func (SpreadOp) Grad(_ Nodes, _, g *Node) Nodes { return Nodes{Reshape(0, 1).Of(Sum(1).Of(g))} }

// Sum adds all elements of a tensor of dims dimensions to one number, in float64.
func Sum(dims int) Op { return Op{SumOp{Kind{Dims: dims}}} }

// SumOp is the op of [Sum].
type SumOp struct{ Of Kind }

func (o SumOp) Form() string              { return axesOf(o.Of) + " -> ()" }
func (o SumOp) Run(out Value, in []Value) { Dispatch(o, out, in, sum, sum) }

func sum[F Float](_ SumOp, v Args[F]) { v.Out()[0] = F(total(v.In(0))) }

func total[F Float](x []F) float64 {
	var t float64
	for _, v := range x {
		t += float64(v)
	}
	return t
}

func (o SumOp) Grad(in Nodes, _, g *Node) Nodes { return Nodes{Op{FillOp(o)}.Of(in[0], g)} }

// FillOp is a tensor of x's shape with g everywhere, the transpose of sum.
type FillOp struct{ Of Kind }

func (o FillOp) Form() string              { return axesOf(o.Of) + ", () -> " + axesOf(o.Of) }
func (o FillOp) Run(out Value, in []Value) { Dispatch(o, out, in, fill, fill) }

func fill[F Float](_ FillOp, v Args[F]) { fillWith(v.Out(), v.In(1)[0]) }

func fillWith[F Float](out []F, v F) {
	for i := range out {
		out[i] = v
	}
}

func (FillOp) WRT() []bool { return []bool{false, true} }

func (o FillOp) Grad(_ Nodes, _, g *Node) Nodes { return Nodes{nil, Op{SumOp(o)}.Of(g)} }

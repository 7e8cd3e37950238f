package op

import "fmt"

// TimesRow multiplies every row of X (B×C) by a row vector v (C), elementwise:
// X·diag(v).
func TimesRow() Op { return Op{TimesRowOp{}} }

// Spread repeats the one element of v (1) to a vector of n.
func Spread(n int) Op { return Op{SpreadOp{N: n}} }

// TimesRowOp is the op of [TimesRow].
type TimesRowOp struct{}

func (TimesRowOp) Form() string                { return "B C, C -> B C by B" }
func (o TimesRowOp) Run(out Value, in []Value) { Dispatch(o, out, in, multiply, multiply) }

func (TimesRowOp) Grad(in Nodes, _, g *Node) (Nodes, error) {
	return Nodes{TimesRow().Of(g, in[1]), SumRows().Of(Times(2).Of(g, in[0]))}, nil
}

// SpreadOp is the op of [Spread].
type SpreadOp struct{ N int }

func (o SpreadOp) Form() string              { return fmt.Sprintf("1 -> %d", o.N) }
func (o SpreadOp) Run(out Value, in []Value) { Dispatch(o, out, in, spread, spread) }

func spread[F Float](_ SpreadOp, v Args[F]) { fillWith(v.Out(), v.In(0)[0]) }

func (SpreadOp) Grad(_ Nodes, _, g *Node) (Nodes, error) {
	return Nodes{Reshape(0, 1).Of(Sum(1).Of(g))}, nil
}

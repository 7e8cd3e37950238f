package op

import (
	"fmt"

	"calibra/graph/simd"
)

// ShareSum is the product E·T of a sparse matrix E (B×R) with a table T (R×C). Row b of E is
// given by p places of the table with their shares (B×p each):
//
//	y_b = Σ_j e_bj T[place_bj]
//
// Places go slot by slot: those of the i-th of w slots lie in the i-th of w equal parts of the
// table. With one place for each slot and shares of 1 it is [TableSum].
func ShareSum(w int) Op { return Op{ShareSumOp{w}} }

// ShareScatter is its transpose, Eᵀ·x of x (B×C), for a table of that many rows.
func ShareScatter(w, rows int) Op { return Op{ShareScatterOp{w, rows}} }

// ShareSumOp is the op of [ShareSum].
type ShareSumOp struct{ Slots int }

func (o ShareSumOp) Form() string {
	return fmt.Sprintf("R C, int B p, B p -> B C where p/%[1]d R/%[1]d", o.Slots)
}
func (o ShareSumOp) Run(out Value, in []Value) { Dispatch(o, out, in, shareSum, shareSum) }

func shareSum[F Float](_ ShareSumOp, v Args[F]) {
	y, table, places, shares, p, c := v.Out(), v.In(0), v.Ints(1), v.In(2), v.Columns(1), v.Columns(0)
	sum := pick[func(y, table []F, places []int32, shares []F)](simd.SumShares, simd.SumShares64)
	inRows(len(places)/p, rowBlock, func(b int) {
		sum(y[b*c:(b+1)*c], table, places[b*p:(b+1)*p], shares[b*p:(b+1)*p])
	})
}

func (ShareSumOp) WRT() []bool { return []bool{true, false, false} }

func (o ShareSumOp) Grad(in Nodes, _, g *Node) (Nodes, error) {
	return Nodes{ShareScatter(o.Slots, in[0].Shape()[0]).Of(in[1], in[2], g), nil, nil}, nil
}

// ShareScatterOp is the op of [ShareScatter].
type ShareScatterOp struct{ Slots, Rows int }

func (o ShareScatterOp) Form() string {
	return fmt.Sprintf("int B p, B p, B C -> %[2]d C where p/%[1]d %[2]d/%[1]d", o.Slots, o.Rows)
}

func (o ShareScatterOp) Run(out Value, in []Value) { Dispatch(o, out, in, shareScatter, shareScatter) }

// shareScatter gives each thread some slots, since their parts of the table are apart.
func shareScatter[F Float](o ShareScatterOp, v Args[F]) {
	table, places, shares, x, p, c := v.Out(), v.Ints(0), v.In(1), v.In(2), v.Columns(0), v.Columns(2)
	add := pick[func(table, x []F, places []int32, shares []F)](simd.AddShares, simd.AddShares64)
	clear(table)
	inBlocks(o.Slots, max(1, o.Slots/(4*simd.Threads())), func(first, end int) {
		lo, hi := first*p/o.Slots, end*p/o.Slots
		for b := range len(places) / p {
			add(table, x[b*c:(b+1)*c], places[b*p+lo:b*p+hi], shares[b*p+lo:b*p+hi])
		}
	})
}

func (ShareScatterOp) WRT() []bool { return []bool{false, false, true} }

func (o ShareScatterOp) Grad(in Nodes, _, g *Node) (Nodes, error) {
	return Nodes{nil, nil, ShareSum(o.Slots).Of(g, in[0], in[1])}, nil
}

package op

import (
	"fmt"

	"calibra/graph/simd"
)

// TableSum adds one row of a table for each slot. The table is (w·K)×C, K rows for
// each of the w slots, and codes (B×w) are which:
//
//	y_b = Σ_i T[i·K + s(b,i)]
//
// It is the product of the table with w one-hot vectors laid end to end, without
// them.
func TableSum() Op { return Op{TableSumOp{}} }

// TableScatter is the transpose of TableSum: from codes (B×w) and x (B×C) it adds each row
// of x to the w rows of a (w·K)×C table that the codes name.
func TableScatter(k int) Op { return Op{TableScatterOp{K: k}} }

// TableSumOp is the op of [TableSum].
type TableSumOp struct{}

func (TableSumOp) Form() string                { return "R C, int B w -> B C by B where R/w" }
func (o TableSumOp) Run(out Value, in []Value) { Dispatch(o, out, in, tableSum, tableSum) }

func tableSum[F Float](_ TableSumOp, v Args[F]) {
	y, table, s, w, c := v.Out(), v.In(0), v.Ints(1), v.Columns(1), v.Columns(0)
	k, sum := v.Shape(0)[0]/w, pick[func(y, table []F, codes []int32, k int)](simd.SumRows, simd.SumRows64)
	inRows(len(s)/w, rowBlock, func(b int) {
		sum(y[b*c:][:c], table, s[b*w:][:w], k)
	})
}

func (TableSumOp) Grad(in Nodes, _, g *Node) (Nodes, error) {
	return Nodes{TableScatter(in[0].Shape()[0]/in[1].Shape()[1]).Of(in[1], g), nil}, nil
}

// TableScatterOp is the op of [TableScatter].
type TableScatterOp struct{ K int }

func (o TableScatterOp) Form() string              { return fmt.Sprintf("int B w, B C -> w*%d C", o.K) }
func (o TableScatterOp) Run(out Value, in []Value) { Dispatch(o, out, in, tableScatter, tableScatter) }

// slotBlock is how many slots, each with a table of its own, one thread adds to.
const slotBlock = 16

func tableScatter[F Float](o TableScatterOp, v Args[F]) {
	table, s, x, w, c, k := v.Out(), v.Ints(0), v.In(1), v.Columns(0), v.Columns(1), o.K
	add := pick[func(table, x []F, codes []int32, k int)](simd.AddToRows, simd.AddToRows64)
	clear(table)
	inBlocks(w, slotBlock, func(lo, hi int) {
		part := table[lo*k*c : hi*k*c]
		for b := range len(s) / w {
			add(part, x[b*c:][:c], s[b*w+lo:b*w+hi], k)
		}
	})
}

func (TableScatterOp) Grad(in Nodes, _, g *Node) (Nodes, error) {
	return Nodes{nil, TableSum().Of(g, in[0])}, nil
}

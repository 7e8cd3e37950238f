package op

import (
	"fmt"
	"slices"
)

// Columns is the columns of X (B×M) at the given indices, in that order; an index
// may not repeat.
func Columns(index ...int) Op { return Op{PickColumnsOp{Index: index}} }

// JoinColumns lays X (B×M) and Y (B×L) side by side: B×(M+L).
func JoinColumns() Op { return Op{JoinColumnsOp{}} }

// Category reads column j of X (B×M) as whole numbers, the codes (B×1) by which
// [Gather] reads a table of the category's vectors.
func Category(j int) Op { return Op{CategoryOp{j}} }

// PickColumnsOp is the op of [Columns].
type PickColumnsOp struct{ Index []int }

func (o PickColumnsOp) Form() string {
	return fmt.Sprintf("B M -> B %d where %d M-%d", len(o.Index), slices.Min(o.Index), slices.Max(o.Index)+1)
}

func (o PickColumnsOp) Run(out Value, in []Value) { Dispatch(o, out, in, pickColumns, pickColumns) }

func pickColumns[F Float](o PickColumnsOp, v Args[F]) {
	out, x, m := v.Out(), v.In(0), v.Columns(0)
	for at := 0; len(out) > 0; at += m {
		row := x[at : at+m]
		for k, j := range o.Index {
			out[k] = row[j]
		}
		out = out[len(o.Index):]
	}
}

func (o PickColumnsOp) Grad(in Nodes, _, g *Node) (Nodes, error) {
	return Nodes{Op{PlaceColumnsOp{o.Index, in[0].Shape()[1]}}.Of(g)}, nil
}

// PlaceColumnsOp puts the columns of G to their indices among M, zeros elsewhere: the
// transpose of pickColumns.
type PlaceColumnsOp struct {
	Index []int
	M     int
}

func (o PlaceColumnsOp) Form() string              { return fmt.Sprintf("B %d -> B %d", len(o.Index), o.M) }
func (o PlaceColumnsOp) Run(out Value, in []Value) { Dispatch(o, out, in, place, place) }

func place[F Float](o PlaceColumnsOp, v Args[F]) {
	out, g := v.Out(), v.In(0)
	clear(out)
	for len(g) > 0 {
		for k, j := range o.Index {
			out[j] = g[k]
		}
		out, g = out[o.M:], g[len(o.Index):]
	}
}

// JoinColumnsOp is the op of [JoinColumns].
type JoinColumnsOp struct{}

func (JoinColumnsOp) Form() string                { return "B M, B L -> B M+L" }
func (o JoinColumnsOp) Run(out Value, in []Value) { Dispatch(o, out, in, join, join) }

func join[F Float](_ JoinColumnsOp, v Args[F]) {
	out, x, y, m, l := v.Out(), v.In(0), v.In(1), v.Columns(0), v.Columns(1)
	for len(x) > 0 {
		copy(out, x[:m])
		copy(out[m:], y[:l])
		out, x, y = out[m+l:], x[m:], y[l:]
	}
}

func (JoinColumnsOp) Grad(in Nodes, _, g *Node) (Nodes, error) {
	m, l := in[0].Shape()[1], in[1].Shape()[1]
	index := make([]int, m+l)
	for j := range index {
		index[j] = j
	}
	return Nodes{Columns(index[:m]...).Of(g), Columns(index[m:]...).Of(g)}, nil
}

// CategoryOp is the op of [Category].
type CategoryOp struct{ Column int }

func (o CategoryOp) Form() string {
	return fmt.Sprintf("B M -> int B 1 where %d M-%d", o.Column, o.Column+1)
}

func (o CategoryOp) Run(out Value, in []Value) { Dispatch(o, out, in, toCodes, toCodes) }

func toCodes[F Float](o CategoryOp, v Args[F]) {
	out, x, m := v.OutInts(), v.In(0)[o.Column:], v.Columns(0)
	for i := range out {
		out[i] = int32(x[i*m])
	}
}

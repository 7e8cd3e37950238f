package op

import (
	"fmt"
	"slices"

	"calibra/graph/simd"
)

// Take reads the rows of a table, N×M or of another kind, that rows (B) names: B×M. Tables
// are data: they have no derivative.
func Take(table Kind) Op { return Op{TakeOp{table}} }

// TakeOp is the op of [Take].
type TakeOp struct{ Table Kind }

func (o TakeOp) Form() string {
	table := axesOf(o.Table)
	rows := "B" + table[1:]
	if o.Table.Int {
		table, rows = "int "+table, "int "+rows
	}
	return table + ", int B -> " + rows + " by B"
}

func (o TakeOp) Run(out Value, in []Value) {
	rows, table := Values[int32](in[1]), in[0].Shape()
	width := table.TotalSize() / table[0]
	switch {
	case o.Table.Int:
		takeRows(Values[int32](out), Values[int32](in[0]), rows, width)
	case IsFloat32(out):
		simd.TakeRows(Values[float32](out), Values[float32](in[0]), rows, width)
	default:
		takeRows(Values[float64](out), Values[float64](in[0]), rows, width)
	}
}

func takeRows[T float64 | int32](out, table []T, rows []int32, width int) {
	for i, r := range rows {
		copy(out[i*width:(i+1)*width], table[int(r)*width:])
	}
}

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

func (o PickColumnsOp) Grad(in Nodes, _, g *Node) Nodes {
	return Nodes{Op{PlaceColumnsOp{o.Index, in[0].Shape()[1]}}.Of(g)}
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

func (JoinColumnsOp) Grad(in Nodes, _, g *Node) Nodes {
	m, l := in[0].Shape()[1], in[1].Shape()[1]
	index := make([]int, m+l)
	for j := range index {
		index[j] = j
	}
	return Nodes{Columns(index[:m]...).Of(g), Columns(index[m:]...).Of(g)}
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

// Reshape reads the values of a tensor with dims dimensions, in order, as one of
// another shape. A first dimension of −1 is computed from the others.
func Reshape(dims int, shape ...int) Op {
	o := ReshapeOp{Of: Kind{Dims: dims}, to: Kind{Dims: len(shape)}}
	copy(o.To[:], shape)
	return Op{o}
}

// ReshapeOp is the op of [Reshape].
type ReshapeOp struct {
	Of, to Kind
	To     [4]int // of to.Dims entries
}

func (o ReshapeOp) Signature() []Kind { return []Kind{o.Of, o.to} }

func (o ReshapeOp) Shape(in []Shape) (Shape, error) {
	s := make(Shape, o.to.Dims)
	copy(s, o.To[:])
	size := in[0].TotalSize()
	if s[0] == -1 {
		rest := s[1:].TotalSize()
		if o.to.Dims == 1 {
			rest = 1
		}
		s[0] = size / rest
	}
	if s.TotalSize() != size {
		return nil, errShapes
	}
	return s, nil
}

// Target is the shape that it gives, −1 for the axis that takes what is left.
func (o ReshapeOp) Target() []int { return o.To[:o.to.Dims] }

func (o ReshapeOp) Run(out Value, in []Value) { Dispatch(o, out, in, reshape, reshape) }

func reshape[F Float](_ ReshapeOp, v Args[F]) { copy(v.Out(), v.In(0)) }

func (o ReshapeOp) Grad(in Nodes, _, g *Node) Nodes {
	return Nodes{Reshape(o.to.Dims, in[0].Shape()...).Of(g)}
}

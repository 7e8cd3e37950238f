package op

import "fmt"

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

func (AddRowOp) Grad(_ Nodes, _, g *Node) (Nodes, error) { return Nodes{g, SumRows().Of(g)}, nil }

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

func (SumRowsOp) Grad(in Nodes, _, g *Node) (Nodes, error) {
	return Nodes{RepeatRow(in[0].Shape()[0]).Of(g)}, nil
}

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

func (RepeatedRowOp) Grad(_ Nodes, _, g *Node) (Nodes, error) { return Nodes{SumRows().Of(g)}, nil }

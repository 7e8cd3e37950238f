package op

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// AddRow adds a row vector v (C) to every row of X (B×C).
func AddRow() Op { return Op{AddRowOp{}} }

// SumRows sums the rows of X (B×C) to one vector (C).
func SumRows() Op { return Op{SumRowsOp{}} }

// RepeatRow lays b copies of v (C) below each other, the transpose of [SumRows].
func RepeatRow(b int) Op { return Op{RepeatedRowOp{B: b}} }

// AddRowOp is the op of [AddRow].
type AddRowOp struct{}

func (AddRowOp) Signature() []Kind { return []Kind{Matrix, Vector, Matrix} }

func (AddRowOp) Shape(in []tensor.Shape) (tensor.Shape, error) {
	if in[0][1] != in[1][0] {
		return nil, errShapes
	}
	return in[0].Clone(), nil
}

func (AddRowOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	if IsFloat32(out) {
		addToRows(Values[float32](out), Values[float32](in[0]), Values[float32](in[1]))
	} else {
		addToRows(Values[float64](out), Values[float64](in[0]), Values[float64](in[1]))
	}
}

func addToRows[F Float](out, x, v []F) {
	c := len(v)
	for b := 0; b < len(x); b += c {
		row := out[b : b+c]
		for j, y := range x[b : b+c] {
			row[j] = y + v[j]
		}
	}
}

func (AddRowOp) WRT() []bool { return []bool{true, true} }

func (AddRowOp) Grad(_ gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c Grads
	return gorgonia.Nodes{g, c.Apply(SumRows(), g)}, c.Err
}

// SumRowsOp is the op of [SumRows].
type SumRowsOp struct{}

func (SumRowsOp) Signature() []Kind { return []Kind{Matrix, Vector} }

func (SumRowsOp) Shape(in []tensor.Shape) (tensor.Shape, error) {
	return tensor.Shape{in[0][1]}, nil
}

func (SumRowsOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	if IsFloat32(out) {
		sumOfRows(Values[float32](out), Values[float32](in[0]))
	} else {
		sumOfRows(Values[float64](out), Values[float64](in[0]))
	}
}

func sumOfRows[F Float](out, x []F) {
	clear(out)
	c := len(out)
	for b := 0; b < len(x); b += c {
		for j, y := range x[b : b+c] {
			out[j] += y
		}
	}
}

func (SumRowsOp) WRT() []bool { return []bool{true} }

func (SumRowsOp) Grad(in gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c Grads
	return gorgonia.Nodes{c.Apply(RepeatRow(in[0].Shape()[0]), g)}, c.Err
}

// RepeatedRowOp is the op of [RepeatRow].
type RepeatedRowOp struct{ B int }

func (RepeatedRowOp) Signature() []Kind { return []Kind{Vector, Matrix} }

func (o RepeatedRowOp) Shape(in []tensor.Shape) (tensor.Shape, error) {
	return tensor.Shape{o.B, in[0][0]}, nil
}

func (RepeatedRowOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	if IsFloat32(out) {
		copyRows(Values[float32](out), Values[float32](in[0]))
	} else {
		copyRows(Values[float64](out), Values[float64](in[0]))
	}
}

func copyRows[F Float](out, v []F) {
	for b := 0; b < len(out); b += len(v) {
		copy(out[b:], v)
	}
}

func (RepeatedRowOp) WRT() []bool { return []bool{true} }

func (RepeatedRowOp) Grad(_ gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c Grads
	return gorgonia.Nodes{c.Apply(SumRows(), g)}, c.Err
}

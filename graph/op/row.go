package op

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// AddRow adds a row vector v (C) to every row of X (B×C).
func AddRow() Op { return Op{addRow{}} }

// SumRows sums the rows of X (B×C) to one vector (C).
func SumRows() Op { return Op{sumRows{}} }

// RepeatRow lays b copies of v (C) below each other, the transpose of [SumRows].
func RepeatRow(b int) Op { return Op{repeatedRow{B: b}} }

type addRow struct{}

func (addRow) signature() []kind { return []kind{matrix, vector, matrix} }

func (addRow) shape(in []tensor.Shape) (tensor.Shape, error) {
	if in[0][1] != in[1][0] {
		return nil, errShapes
	}
	return in[0].Clone(), nil
}

func (addRow) run(out gorgonia.Value, in []gorgonia.Value) {
	if isFloat32(out) {
		addToRows(values[float32](out), values[float32](in[0]), values[float32](in[1]))
	} else {
		addToRows(values[float64](out), values[float64](in[0]), values[float64](in[1]))
	}
}

func addToRows[F float](out, x, v []F) {
	c := len(v)
	for b := 0; b < len(x); b += c {
		row := out[b : b+c]
		for j, y := range x[b : b+c] {
			row[j] = y + v[j]
		}
	}
}

func (addRow) wrt() []bool { return []bool{true, true} }

func (addRow) grad(_ gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c grads
	return gorgonia.Nodes{g, c.apply(SumRows(), g)}, c.err
}

type sumRows struct{}

func (sumRows) signature() []kind { return []kind{matrix, vector} }

func (sumRows) shape(in []tensor.Shape) (tensor.Shape, error) {
	return tensor.Shape{in[0][1]}, nil
}

func (sumRows) run(out gorgonia.Value, in []gorgonia.Value) {
	if isFloat32(out) {
		sumOfRows(values[float32](out), values[float32](in[0]))
	} else {
		sumOfRows(values[float64](out), values[float64](in[0]))
	}
}

func sumOfRows[F float](out, x []F) {
	clear(out)
	c := len(out)
	for b := 0; b < len(x); b += c {
		for j, y := range x[b : b+c] {
			out[j] += y
		}
	}
}

func (sumRows) wrt() []bool { return []bool{true} }

func (sumRows) grad(in gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c grads
	return gorgonia.Nodes{c.apply(RepeatRow(in[0].Shape()[0]), g)}, c.err
}

type repeatedRow struct{ B int }

func (repeatedRow) signature() []kind { return []kind{vector, matrix} }

func (o repeatedRow) shape(in []tensor.Shape) (tensor.Shape, error) {
	return tensor.Shape{o.B, in[0][0]}, nil
}

func (repeatedRow) run(out gorgonia.Value, in []gorgonia.Value) {
	if isFloat32(out) {
		copyRows(values[float32](out), values[float32](in[0]))
	} else {
		copyRows(values[float64](out), values[float64](in[0]))
	}
}

func copyRows[F float](out, v []F) {
	for b := 0; b < len(out); b += len(v) {
		copy(out[b:], v)
	}
}

func (repeatedRow) wrt() []bool { return []bool{true} }

func (repeatedRow) grad(_ gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c grads
	return gorgonia.Nodes{c.apply(SumRows(), g)}, c.err
}

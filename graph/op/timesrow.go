package op

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// TimesRow multiplies every row of X (B×C) by a row vector v (C), elementwise:
// X·diag(v).
func TimesRow() Op { return Op{timesRow{}} }

// Spread repeats the one element of v (1) to a vector of n.
func Spread(n int) Op { return Op{spread{N: n}} }

type timesRow struct{}

func (timesRow) signature() []kind { return []kind{matrix, vector, matrix} }

func (timesRow) shape(in []tensor.Shape) (tensor.Shape, error) {
	if in[0][1] != in[1][0] {
		return nil, errShapes
	}
	return in[0].Clone(), nil
}

func (timesRow) run(out gorgonia.Value, in []gorgonia.Value) {
	if isFloat32(out) {
		multiplyRows(values[float32](out), values[float32](in[0]), values[float32](in[1]))
	} else {
		multiplyRows(values[float64](out), values[float64](in[0]), values[float64](in[1]))
	}
}

func multiplyRows[F float](out, x, v []F) {
	c := len(v)
	for b := 0; b < len(x); b += c {
		row := out[b : b+c]
		for j, y := range x[b : b+c] {
			row[j] = y * v[j]
		}
	}
}

func (timesRow) wrt() []bool { return []bool{true, true} }

func (timesRow) grad(in gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c grads
	dx := c.apply(TimesRow(), g, in[1])
	dv := c.apply(SumRows(), c.apply(Times(2), g, in[0]))
	return gorgonia.Nodes{dx, dv}, c.err
}

type spread struct{ N int }

func (spread) signature() []kind { return []kind{vector, vector} }

func (o spread) shape(in []tensor.Shape) (tensor.Shape, error) {
	if in[0][0] != 1 {
		return nil, errShapes
	}
	return tensor.Shape{o.N}, nil
}

func (spread) run(out gorgonia.Value, in []gorgonia.Value) {
	if isFloat32(out) {
		fillWith(values[float32](out), values[float32](in[0])[0])
	} else {
		fillWith(values[float64](out), values[float64](in[0])[0])
	}
}

func (spread) wrt() []bool { return []bool{true} }

func (spread) grad(_ gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c grads
	return gorgonia.Nodes{c.apply(Op{gathered{}}, g)}, c.err
}

// gathered adds a vector to one of a single element, the transpose of spread.
type gathered struct{}

func (gathered) signature() []kind { return []kind{vector, vector} }

func (gathered) shape([]tensor.Shape) (tensor.Shape, error) { return tensor.Shape{1}, nil }

func (gathered) run(out gorgonia.Value, in []gorgonia.Value) {
	if isFloat32(out) {
		values[float32](out)[0] = float32(total(values[float32](in[0])))
	} else {
		values[float64](out)[0] = total(values[float64](in[0]))
	}
}

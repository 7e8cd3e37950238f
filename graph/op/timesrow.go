package op

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// TimesRow multiplies every row of X (B×C) by a row vector v (C), elementwise:
// X·diag(v).
func TimesRow() Op { return Op{TimesRowOp{}} }

// Spread repeats the one element of v (1) to a vector of n.
func Spread(n int) Op { return Op{SpreadOp{N: n}} }

// TimesRowOp is the op of [TimesRow].
type TimesRowOp struct{}

func (TimesRowOp) Signature() []Kind { return []Kind{Matrix, Vector, Matrix} }

func (TimesRowOp) Shape(in []tensor.Shape) (tensor.Shape, error) {
	if in[0][1] != in[1][0] {
		return nil, errShapes
	}
	return in[0].Clone(), nil
}

func (TimesRowOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	if IsFloat32(out) {
		multiplyRows(Values[float32](out), Values[float32](in[0]), Values[float32](in[1]))
	} else {
		multiplyRows(Values[float64](out), Values[float64](in[0]), Values[float64](in[1]))
	}
}

func multiplyRows[F Float](out, x, v []F) {
	c := len(v)
	for b := 0; b < len(x); b += c {
		row := out[b : b+c]
		for j, y := range x[b : b+c] {
			row[j] = y * v[j]
		}
	}
}

func (TimesRowOp) WRT() []bool { return []bool{true, true} }

func (TimesRowOp) Grad(in gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c Grads
	dx := c.Apply(TimesRow(), g, in[1])
	dv := c.Apply(SumRows(), c.Apply(Times(2), g, in[0]))
	return gorgonia.Nodes{dx, dv}, c.Err
}

// SpreadOp is the op of [Spread].
type SpreadOp struct{ N int }

func (SpreadOp) Signature() []Kind { return []Kind{Vector, Vector} }

func (o SpreadOp) Shape(in []tensor.Shape) (tensor.Shape, error) {
	if in[0][0] != 1 {
		return nil, errShapes
	}
	return tensor.Shape{o.N}, nil
}

func (SpreadOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	if IsFloat32(out) {
		fillWith(Values[float32](out), Values[float32](in[0])[0])
	} else {
		fillWith(Values[float64](out), Values[float64](in[0])[0])
	}
}

func (SpreadOp) WRT() []bool { return []bool{true} }

func (SpreadOp) Grad(_ gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c Grads
	return gorgonia.Nodes{c.Apply(Op{GatheredOp{}}, g)}, c.Err
}

// GatheredOp adds a vector to one of a single element, the transpose of spread.
type GatheredOp struct{}

func (GatheredOp) Signature() []Kind { return []Kind{Vector, Vector} }

func (GatheredOp) Shape([]tensor.Shape) (tensor.Shape, error) { return tensor.Shape{1}, nil }

func (GatheredOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	if IsFloat32(out) {
		Values[float32](out)[0] = float32(total(Values[float32](in[0])))
	} else {
		Values[float64](out)[0] = total(Values[float64](in[0]))
	}
}

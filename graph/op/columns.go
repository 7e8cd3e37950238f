package op

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
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

func (PickColumnsOp) Signature() []Kind { return []Kind{Matrix, Matrix} }

func (o PickColumnsOp) Shape(in []tensor.Shape) (tensor.Shape, error) {
	for _, j := range o.Index {
		if j < 0 || j >= in[0][1] {
			return nil, errShapes
		}
	}
	return tensor.Shape{in[0][0], len(o.Index)}, nil
}

func (o PickColumnsOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	if IsFloat32(out) {
		pick(Values[float32](out), Values[float32](in[0]), o.Index, columns(in[0]))
	} else {
		pick(Values[float64](out), Values[float64](in[0]), o.Index, columns(in[0]))
	}
}

func pick[F Float](out, x []F, index []int, m int) {
	for at := 0; len(out) > 0; at += m {
		row := x[at : at+m]
		for k, j := range index {
			out[k] = row[j]
		}
		out = out[len(index):]
	}
}

func (PickColumnsOp) WRT() []bool { return []bool{true} }

func (o PickColumnsOp) Grad(in gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c Grads
	return gorgonia.Nodes{c.Apply(Op{PlaceColumnsOp{o.Index, in[0].Shape()[1]}}, g)}, c.Err
}

// PlaceColumnsOp puts the columns of G to their indices among M, zeros elsewhere: the
// transpose of pickColumns.
type PlaceColumnsOp struct {
	Index []int
	M     int
}

func (PlaceColumnsOp) Signature() []Kind { return []Kind{Matrix, Matrix} }

func (o PlaceColumnsOp) Shape(in []tensor.Shape) (tensor.Shape, error) {
	return tensor.Shape{in[0][0], o.M}, nil
}

func (o PlaceColumnsOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	if IsFloat32(out) {
		place(Values[float32](out), Values[float32](in[0]), o)
	} else {
		place(Values[float64](out), Values[float64](in[0]), o)
	}
}

func place[F Float](out, g []F, o PlaceColumnsOp) {
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

func (JoinColumnsOp) Signature() []Kind { return []Kind{Matrix, Matrix, Matrix} }

func (JoinColumnsOp) Shape(in []tensor.Shape) (tensor.Shape, error) {
	if in[0][0] != in[1][0] {
		return nil, errShapes
	}
	return tensor.Shape{in[0][0], in[0][1] + in[1][1]}, nil
}

func (JoinColumnsOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	if IsFloat32(out) {
		join(Values[float32](out), Values[float32](in[0]), Values[float32](in[1]), columns(in[0]), columns(in[1]))
	} else {
		join(Values[float64](out), Values[float64](in[0]), Values[float64](in[1]), columns(in[0]), columns(in[1]))
	}
}

func join[F Float](out, x, y []F, m, l int) {
	for len(x) > 0 {
		copy(out, x[:m])
		copy(out[m:], y[:l])
		out, x, y = out[m+l:], x[m:], y[l:]
	}
}

func (JoinColumnsOp) WRT() []bool { return []bool{true, true} }

func (JoinColumnsOp) Grad(in gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c Grads
	m, l := in[0].Shape()[1], in[1].Shape()[1]
	index := make([]int, m+l)
	for j := range index {
		index[j] = j
	}
	return gorgonia.Nodes{c.Apply(Columns(index[:m]...), g), c.Apply(Columns(index[m:]...), g)}, c.Err
}

// CategoryOp is the op of [Category].
type CategoryOp struct{ Column int }

func (CategoryOp) Signature() []Kind { return []Kind{Matrix, Codes} }

func (o CategoryOp) Shape(in []tensor.Shape) (tensor.Shape, error) {
	if o.Column < 0 || o.Column >= in[0][1] {
		return nil, errShapes
	}
	return tensor.Shape{in[0][0], 1}, nil
}

func (o CategoryOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	if in[0].Dtype() == tensor.Float32 {
		toCodes(Values[int32](out), Values[float32](in[0])[o.Column:], columns(in[0]))
	} else {
		toCodes(Values[int32](out), Values[float64](in[0])[o.Column:], columns(in[0]))
	}
}

func toCodes[F Float](out []int32, x []F, m int) {
	for i := range out {
		out[i] = int32(x[i*m])
	}
}

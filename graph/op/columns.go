package op

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Columns is the columns of X (B×M) at the given indices, in that order; an index
// may not repeat.
func Columns(index ...int) Op { return Op{pickColumns{Index: index}} }

// JoinColumns lays X (B×M) and Y (B×L) side by side: B×(M+L).
func JoinColumns() Op { return Op{joinColumns{}} }

// Category reads column j of X (B×M) as whole numbers, the codes (B×1) by which
// [Gather] reads a table of the category's vectors.
func Category(j int) Op { return Op{category{j}} }

type pickColumns struct{ Index []int }

func (pickColumns) signature() []kind { return []kind{matrix, matrix} }

func (o pickColumns) shape(in []tensor.Shape) (tensor.Shape, error) {
	for _, j := range o.Index {
		if j < 0 || j >= in[0][1] {
			return nil, errShapes
		}
	}
	return tensor.Shape{in[0][0], len(o.Index)}, nil
}

func (o pickColumns) run(out gorgonia.Value, in []gorgonia.Value) {
	if isFloat32(out) {
		pick(values[float32](out), values[float32](in[0]), o.Index, columns(in[0]))
	} else {
		pick(values[float64](out), values[float64](in[0]), o.Index, columns(in[0]))
	}
}

func pick[F float](out, x []F, index []int, m int) {
	for at := 0; len(out) > 0; at += m {
		row := x[at : at+m]
		for k, j := range index {
			out[k] = row[j]
		}
		out = out[len(index):]
	}
}

func (pickColumns) wrt() []bool { return []bool{true} }

func (o pickColumns) grad(in gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c grads
	return gorgonia.Nodes{c.apply(Op{placeColumns{o.Index, in[0].Shape()[1]}}, g)}, c.err
}

// placeColumns puts the columns of G to their indices among M, zeros elsewhere: the
// transpose of pickColumns.
type placeColumns struct {
	Index []int
	M     int
}

func (placeColumns) signature() []kind { return []kind{matrix, matrix} }

func (o placeColumns) shape(in []tensor.Shape) (tensor.Shape, error) {
	return tensor.Shape{in[0][0], o.M}, nil
}

func (o placeColumns) run(out gorgonia.Value, in []gorgonia.Value) {
	if isFloat32(out) {
		place(values[float32](out), values[float32](in[0]), o)
	} else {
		place(values[float64](out), values[float64](in[0]), o)
	}
}

func place[F float](out, g []F, o placeColumns) {
	clear(out)
	for len(g) > 0 {
		for k, j := range o.Index {
			out[j] = g[k]
		}
		out, g = out[o.M:], g[len(o.Index):]
	}
}

type joinColumns struct{}

func (joinColumns) signature() []kind { return []kind{matrix, matrix, matrix} }

func (joinColumns) shape(in []tensor.Shape) (tensor.Shape, error) {
	if in[0][0] != in[1][0] {
		return nil, errShapes
	}
	return tensor.Shape{in[0][0], in[0][1] + in[1][1]}, nil
}

func (joinColumns) run(out gorgonia.Value, in []gorgonia.Value) {
	if isFloat32(out) {
		join(values[float32](out), values[float32](in[0]), values[float32](in[1]), columns(in[0]), columns(in[1]))
	} else {
		join(values[float64](out), values[float64](in[0]), values[float64](in[1]), columns(in[0]), columns(in[1]))
	}
}

func join[F float](out, x, y []F, m, l int) {
	for len(x) > 0 {
		copy(out, x[:m])
		copy(out[m:], y[:l])
		out, x, y = out[m+l:], x[m:], y[l:]
	}
}

func (joinColumns) wrt() []bool { return []bool{true, true} }

func (joinColumns) grad(in gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c grads
	m, l := in[0].Shape()[1], in[1].Shape()[1]
	index := make([]int, m+l)
	for j := range index {
		index[j] = j
	}
	return gorgonia.Nodes{c.apply(Columns(index[:m]...), g), c.apply(Columns(index[m:]...), g)}, c.err
}

type category struct{ Column int }

func (category) signature() []kind { return []kind{matrix, codes} }

func (o category) shape(in []tensor.Shape) (tensor.Shape, error) {
	if o.Column < 0 || o.Column >= in[0][1] {
		return nil, errShapes
	}
	return tensor.Shape{in[0][0], 1}, nil
}

func (o category) run(out gorgonia.Value, in []gorgonia.Value) {
	if in[0].Dtype() == tensor.Float32 {
		toCodes(values[int32](out), values[float32](in[0])[o.Column:], columns(in[0]))
	} else {
		toCodes(values[int32](out), values[float64](in[0])[o.Column:], columns(in[0]))
	}
}

func toCodes[F float](out []int32, x []F, m int) {
	for i := range out {
		out[i] = int32(x[i*m])
	}
}

package op

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Outer is the outer product of matching rows, M_k = a_k b_kᵀ, from receivers
// a (K×C) and senders b (K×D) to a K×(C·D) matrix whose row k is M_k read row by
// row: entry i·D+j is a_ki b_kj.
func Outer() Op { return Op{outer{}} }

// OuterLeft contracts the right factor of a row of outer products: y_ki = Σ_j
// G_k[i,j] b_kj, from G (K×(C·D)) and b (K×D) to K×C.
func OuterLeft() Op { return Op{outerLeft{}} }

// OuterRight contracts the left factor: y_kj = Σ_i G_k[i,j] a_ki, from
// G (K×(C·D)) and a (K×C) to K×D.
func OuterRight() Op { return Op{outerRight{}} }

type outer struct{}

func (outer) signature() []kind { return []kind{matrix, matrix, matrix} }

func (outer) shape(in []tensor.Shape) (tensor.Shape, error) {
	if in[0][0] != in[1][0] {
		return nil, errShapes
	}
	return tensor.Shape{in[0][0], in[0][1] * in[1][1]}, nil
}

func (outer) run(out gorgonia.Value, in []gorgonia.Value) {
	c, d := columns(in[0]), columns(in[1])
	if isFloat32(out) {
		outerRows(values[float32](out), values[float32](in[0]), values[float32](in[1]), c, d)
	} else {
		outerRows(values[float64](out), values[float64](in[0]), values[float64](in[1]), c, d)
	}
}

func outerRows[F float](m, a, b []F, c, d int) {
	for k := 0; k < len(a)/c; k++ {
		bk := b[k*d : (k+1)*d]
		for i, x := range a[k*c : (k+1)*c] {
			row := m[(k*c+i)*d : (k*c+i+1)*d]
			for j, y := range bk {
				row[j] = x * y
			}
		}
	}
}

func (outer) wrt() []bool { return []bool{true, true} }

func (outer) grad(in gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c grads
	da := c.apply(OuterLeft(), g, in[1])
	db := c.apply(OuterRight(), g, in[0])
	return gorgonia.Nodes{da, db}, c.err
}

type outerLeft struct{}

func (outerLeft) signature() []kind { return []kind{matrix, matrix, matrix} }

func (outerLeft) shape(in []tensor.Shape) (tensor.Shape, error) { return contracted(in) }

func (outerLeft) run(out gorgonia.Value, in []gorgonia.Value) {
	d := columns(in[1])
	if isFloat32(out) {
		contractRight(values[float32](out), values[float32](in[0]), values[float32](in[1]), d)
	} else {
		contractRight(values[float64](out), values[float64](in[0]), values[float64](in[1]), d)
	}
}

func contractRight[F float](y, g, b []F, d int) {
	c := len(g) / len(b)
	for i := range y {
		k := i / c
		y[i] = dot(g[i*d:(i+1)*d], b[k*d:(k+1)*d])
	}
}

func (outerLeft) wrt() []bool { return []bool{true, true} }

func (outerLeft) grad(in gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c grads
	dg := c.apply(Outer(), g, in[1])
	db := c.apply(OuterRight(), in[0], g)
	return gorgonia.Nodes{dg, db}, c.err
}

type outerRight struct{}

func (outerRight) signature() []kind { return []kind{matrix, matrix, matrix} }

func (outerRight) shape(in []tensor.Shape) (tensor.Shape, error) { return contracted(in) }

func (outerRight) run(out gorgonia.Value, in []gorgonia.Value) {
	c := columns(in[1])
	if isFloat32(out) {
		contractLeft(values[float32](out), values[float32](in[0]), values[float32](in[1]), c)
	} else {
		contractLeft(values[float64](out), values[float64](in[0]), values[float64](in[1]), c)
	}
}

func contractLeft[F float](y, g, a []F, c int) {
	clear(y)
	d := len(g) / len(a)
	for i, x := range a {
		k := i / c
		yk := y[k*d : (k+1)*d]
		for j, v := range g[i*d : (i+1)*d] {
			yk[j] += x * v
		}
	}
}

func (outerRight) wrt() []bool { return []bool{true, true} }

func (outerRight) grad(in gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c grads
	dg := c.apply(Outer(), in[1], g)
	da := c.apply(OuterLeft(), in[0], g)
	return gorgonia.Nodes{dg, da}, c.err
}

// contracted is the shape of K×(C·D) contracted with K×C or K×D.
func contracted(in []tensor.Shape) (tensor.Shape, error) {
	if in[0][0] != in[1][0] || in[0][1]%in[1][1] != 0 {
		return nil, errShapes
	}
	return tensor.Shape{in[0][0], in[0][1] / in[1][1]}, nil
}

package op

import (
	"calibra/graph/simd"

	"gonum.org/v1/gonum/floats"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// TableSum adds one row of a table for each slot. The table is (w·K)×C, K rows for
// each of the w slots, and codes (B×w) say which:
//
//	y_b = Σ_i T[i·K + s(b,i)]
//
// It is the product of the table with w one-hot vectors laid end to end, without
// them.
func TableSum() Op { return Op{tableSum{}} }

// TableScatter is the transpose of TableSum: it adds each row of x (B×C) to the w
// rows of a (w·K)×C table that codes (B×w) name.
func TableScatter(k int) Op { return Op{tableScatter{K: k}} }

type tableSum struct{}

func (tableSum) signature() []kind { return []kind{matrix, codes, matrix} }

func (tableSum) shape(in []tensor.Shape) (tensor.Shape, error) {
	if in[0][0]%in[1][1] != 0 {
		return nil, errShapes
	}
	return tensor.Shape{in[1][0], in[0][1]}, nil
}

func (tableSum) run(out gorgonia.Value, in []gorgonia.Value) {
	s, w := values[int32](in[1]), columns(in[1])
	k, c := in[0].Shape()[0]/w, columns(in[0])
	if isFloat32(out) {
		sumTable(values[float32](out), values[float32](in[0]), s, w, k, c, accumulate)
	} else {
		sumTable(values[float64](out), values[float64](in[0]), s, w, k, c, floats.Add)
	}
}

// wideRow is the length from which rows are added by a vector kernel: to call it takes
// about as long as to add so many numbers one by one.
const wideRow = 16

// accumulate is dst += x.
func accumulate(dst, x []float32) { simd.Axpy(dst, 1, x) }

// sumTable adds four short rows at a time, which reads and writes the sum once for all.
func sumTable[F float](y, table []F, s []int32, w, k, c int, add func(dst, x []F)) {
	clear(y)
	at := func(i int, code int32) []F { return table[(i*k+int(code))*c:][:c] }
	for b := 0; b < len(s); b += w {
		row, codes := y[b/w*c:][:c], s[b:b+w]
		i := 0
		for ; c >= wideRow && i < w; i++ {
			add(row, at(i, codes[i]))
		}
		for ; i+4 <= w; i += 4 {
			t0, t1, t2, t3 := at(i, codes[i]), at(i+1, codes[i+1]), at(i+2, codes[i+2]), at(i+3, codes[i+3])
			for j := range row {
				row[j] += t0[j] + t1[j] + (t2[j] + t3[j])
			}
		}
		for ; i < w; i++ {
			for j, v := range at(i, codes[i]) {
				row[j] += v
			}
		}
	}
}

func (tableSum) wrt() []bool { return []bool{true, false} }

func (tableSum) grad(in gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c grads
	k := in[0].Shape()[0] / in[1].Shape()[1]
	return gorgonia.Nodes{c.apply(TableScatter(k), in[1], g), nil}, c.err
}

type tableScatter struct{ K int }

func (tableScatter) signature() []kind { return []kind{codes, matrix, matrix} }

func (o tableScatter) shape(in []tensor.Shape) (tensor.Shape, error) {
	if in[0][0] != in[1][0] {
		return nil, errShapes
	}
	return tensor.Shape{in[0][1] * o.K, in[1][1]}, nil
}

func (o tableScatter) run(out gorgonia.Value, in []gorgonia.Value) {
	s, w, c := values[int32](in[0]), columns(in[0]), columns(out)
	if isFloat32(out) {
		scatterTable(values[float32](out), values[float32](in[1]), s, w, o.K, c, accumulate)
	} else {
		scatterTable(values[float64](out), values[float64](in[1]), s, w, o.K, c, floats.Add)
	}
}

func scatterTable[F float](table, x []F, s []int32, w, k, c int, add func(dst, x []F)) {
	clear(table)
	for b := 0; b < len(s); b += w {
		from := x[b/w*c:][:c]
		for i, code := range s[b : b+w] {
			to := table[(i*k+int(code))*c:][:len(from)]
			if c >= wideRow {
				add(to, from)
				continue
			}
			for j, v := range from {
				to[j] += v
			}
		}
	}
}

func (tableScatter) wrt() []bool { return []bool{false, true} }

func (tableScatter) grad(in gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c grads
	return gorgonia.Nodes{nil, c.apply(TableSum(), g, in[0])}, c.err
}

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
func TableSum() Op { return Op{TableSumOp{}} }

// TableScatter is the transpose of TableSum: it adds each row of x (B×C) to the w
// rows of a (w·K)×C table that codes (B×w) name.
func TableScatter(k int) Op { return Op{TableScatterOp{K: k}} }

// TableSumOp is the op of [TableSum].
type TableSumOp struct{}

func (TableSumOp) Signature() []Kind { return []Kind{Matrix, Codes, Matrix} }

func (TableSumOp) Shape(in []tensor.Shape) (tensor.Shape, error) {
	if in[0][0]%in[1][1] != 0 {
		return nil, errShapes
	}
	return tensor.Shape{in[1][0], in[0][1]}, nil
}

func (TableSumOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	s, w := Values[int32](in[1]), columns(in[1])
	k, c := in[0].Shape()[0]/w, columns(in[0])
	if IsFloat32(out) {
		sumTable(Values[float32](out), Values[float32](in[0]), s, w, k, c, accumulate)
	} else {
		sumTable(Values[float64](out), Values[float64](in[0]), s, w, k, c, floats.Add)
	}
}

// wideRow is the length from which rows are added by a vector kernel: to call it takes
// about as long as to add so many numbers one by one.
const wideRow = 16

// accumulate is dst += x.
func accumulate(dst, x []float32) { simd.Axpy(dst, 1, x) }

// sumTable adds four short rows at a time, which reads and writes the sum once for all.
func sumTable[F Float](y, table []F, s []int32, w, k, c int, add func(dst, x []F)) {
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

func (TableSumOp) WRT() []bool { return []bool{true, false} }

func (TableSumOp) Grad(in gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c Grads
	k := in[0].Shape()[0] / in[1].Shape()[1]
	return gorgonia.Nodes{c.Apply(TableScatter(k), in[1], g), nil}, c.Err
}

// TableScatterOp is the op of [TableScatter].
type TableScatterOp struct{ K int }

func (TableScatterOp) Signature() []Kind { return []Kind{Codes, Matrix, Matrix} }

func (o TableScatterOp) Shape(in []tensor.Shape) (tensor.Shape, error) {
	if in[0][0] != in[1][0] {
		return nil, errShapes
	}
	return tensor.Shape{in[0][1] * o.K, in[1][1]}, nil
}

func (o TableScatterOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	s, w, c := Values[int32](in[0]), columns(in[0]), columns(out)
	if IsFloat32(out) {
		scatterTable(Values[float32](out), Values[float32](in[1]), s, w, o.K, c, accumulate)
	} else {
		scatterTable(Values[float64](out), Values[float64](in[1]), s, w, o.K, c, floats.Add)
	}
}

func scatterTable[F Float](table, x []F, s []int32, w, k, c int, add func(dst, x []F)) {
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

func (TableScatterOp) WRT() []bool { return []bool{false, true} }

func (TableScatterOp) Grad(in gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c Grads
	return gorgonia.Nodes{nil, c.Apply(TableSum(), g, in[0])}, c.Err
}

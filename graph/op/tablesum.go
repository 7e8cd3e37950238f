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
		sumTable(Values[float32](out), Values[float32](in[0]), s, w, k, c, simd.SumRows)
	} else {
		sumTable(Values[float64](out), Values[float64](in[0]), s, w, k, c, sumRows)
	}
}

func sumTable[F Float](y, table []F, s []int32, w, k, c int, sum func(y, table []F, codes []int32, k int)) {
	rowwise(len(s)/w, func(lo, hi int) {
		for b := lo; b < hi; b++ {
			sum(y[b*c:][:c], table, s[b*w:][:w], k)
		}
	})
}

// sumRows is [simd.SumRows] in double precision.
func sumRows(y, table []float64, codes []int32, k int) {
	clear(y)
	for i, code := range codes {
		floats.Add(y, table[(i*k+int(code))*len(y):][:len(y)])
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
		scatterTable(Values[float32](out), Values[float32](in[1]), s, w, o.K, c, simd.AddToRows)
	} else {
		scatterTable(Values[float64](out), Values[float64](in[1]), s, w, o.K, c, addToTable)
	}
}

// slotBlock is how many slots, each with a table of its own, one thread adds to.
const slotBlock = 16

func scatterTable[F Float](table, x []F, s []int32, w, k, c int, add func(table, x []F, codes []int32, k int)) {
	clear(table)
	parallel((w+slotBlock-1)/slotBlock, func(block int) {
		lo, hi := block*slotBlock, min((block+1)*slotBlock, w)
		part := table[lo*k*c : hi*k*c]
		for b := range len(s) / w {
			add(part, x[b*c:][:c], s[b*w+lo:b*w+hi], k)
		}
	})
}

// addToTable is [simd.AddToRows] in double precision.
func addToTable(table, x []float64, codes []int32, k int) {
	for i, code := range codes {
		floats.Add(table[(i*k+int(code))*len(x):][:len(x)], x)
	}
}

func (TableScatterOp) WRT() []bool { return []bool{false, true} }

func (TableScatterOp) Grad(in gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c Grads
	return gorgonia.Nodes{nil, c.Apply(TableSum(), g, in[0])}, c.Err
}

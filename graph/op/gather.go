package op

import (
	"sync"

	"calibra/graph/simd"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Gather selects rows of a table (K×d) by codes (B×w) and lays the w rows of a
// sample side by side: q = [c_s(1), …, c_s(w)], a B×(w·d) matrix. Its gradient
// by the table is [ScatterAdd].
func Gather() Op { return Op{GatherOp{}} }

// ScatterAdd is the transpose of Gather: it adds the w pieces of each row of x
// (B×(w·d)) to the rows of a K×d table that codes (B×w) name,
//
//	T_k = Σ_{b,i: s(b,i)=k} x_b⁽ⁱ⁾
//
// With x the features this is the sum of the slots assigned to each codeword,
// the quantity whose moving average makes a codebook.
func ScatterAdd(k int) Op { return Op{ScatterAddOp{K: k}} }

// GatherOp is the op of [Gather].
type GatherOp struct{}

func (GatherOp) Signature() []Kind { return []Kind{Matrix, Codes, Matrix} }

func (GatherOp) Shape(in []tensor.Shape) (tensor.Shape, error) {
	return tensor.Shape{in[1][0], in[1][1] * in[0][1]}, nil
}

func (GatherOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	s, d := Values[int32](in[1]), columns(in[0])
	if IsFloat32(out) {
		job := gathers.Get().(*gather)
		*job = gather{Values[float32](out), Values[float32](in[0]), s, d}
		simd.Run((len(s)+gatherSlots-1)/gatherSlots, job)
		*job = gather{}
		gathers.Put(job)
	} else {
		gatherRows(Values[float64](out), Values[float64](in[0]), s, d)
	}
}

// gather is one float32 gather in flight, cut by slots.
type gather struct {
	q, table []float32
	codes    []int32
	d        int
}

// gatherSlots is how many slots a block copies, some 10 µs of work.
const gatherSlots = 1024

func (j *gather) Block(i int) {
	lo := i * gatherSlots
	hi := min(lo+gatherSlots, len(j.codes))
	gatherRows(j.q[lo*j.d:hi*j.d], j.table, j.codes[lo:hi], j.d)
}

var gathers = sync.Pool{New: func() any { return new(gather) }}

func gatherRows[F Float](q, table []F, s []int32, d int) {
	for i, k := range s {
		copy(q[i*d:(i+1)*d], table[int(k)*d:])
	}
}

func (GatherOp) WRT() []bool { return []bool{true, false} }

func (GatherOp) Grad(in gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c Grads
	dt := c.Apply(ScatterAdd(in[0].Shape()[0]), in[1], g)
	return gorgonia.Nodes{dt, nil}, c.Err
}

// ScatterAddOp is the op of [ScatterAdd].
type ScatterAddOp struct{ K int }

func (ScatterAddOp) Signature() []Kind { return []Kind{Codes, Matrix, Matrix} }

func (o ScatterAddOp) Shape(in []tensor.Shape) (tensor.Shape, error) {
	s, x := in[0], in[1]
	if s[0] != x[0] || x[1]%s[1] != 0 {
		return nil, errShapes
	}
	return tensor.Shape{o.K, x[1] / s[1]}, nil
}

func (ScatterAddOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	s, d := Values[int32](in[0]), columns(out)
	if IsFloat32(out) {
		scatterRows(Values[float32](out), Values[float32](in[1]), s, d)
	} else {
		scatterRows(Values[float64](out), Values[float64](in[1]), s, d)
	}
}

func scatterRows[F Float](table, x []F, s []int32, d int) {
	clear(table)
	addSlots(table, x, s, d)
}

// addSlots adds the i-th piece of x to the row of table that s[i] names.
func addSlots[F Float](table, x []F, s []int32, d int) {
	for i, k := range s {
		row := table[int(k)*d : (int(k)+1)*d]
		for j, v := range x[i*d : (i+1)*d] {
			row[j] += v
		}
	}
}

func (ScatterAddOp) WRT() []bool { return []bool{false, true} }

func (ScatterAddOp) Grad(in gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c Grads
	dx := c.Apply(Gather(), g, in[0])
	return gorgonia.Nodes{nil, dx}, c.Err
}

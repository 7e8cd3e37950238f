package layers

import (
	"calibra/data"
	"calibra/graph"
	"calibra/graph/op"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Features are the features of N rows, less a centre, as graphs read them, in float32. Those that a
// file holds so ([data.Singles]) are read where they are, whatever rows of them a set has, and the
// centre is taken from the rows of a step: of two numbers of float32 the difference is rounded the
// same in both ways.
type Features struct {
	table *tensor.Dense // of all rows in memory, ·×M
	rows  *tensor.Dense // which of them are the N; nil: all
	minus *tensor.Dense // what is still to be added to each row (M); nil: nothing
}

// NewFeatures makes them of x, N×M, and of the centre among w.
func NewFeatures(x mat.Matrix, w *graph.Weights) *Features {
	s, ok := x.(*data.Singles)
	if !ok {
		return &Features{table: graph.Matrix(tensor.Float32, data.Dense(LessCentre(x, w)))}
	}
	_, m := s.Dims()
	values, index := s.Memory()
	f := &Features{table: tensor.New(tensor.WithShape(len(values)/m, m), tensor.WithBacking(values)), minus: minusCentre(w)}
	if index != nil {
		f.rows = tensor.New(tensor.WithShape(len(index)), tensor.WithBacking(index))
	}
	return f
}

// Take describes those of the rows that a step works on, B×M.
func (f *Features) Take(b *graph.Builder, name string) *gorgonia.Node {
	var z *gorgonia.Node
	if f.rows == nil {
		z = b.Take(name, f.table)
	} else {
		z = b.Apply(op.Take(), b.Table(name, f.table), b.Take(name+"/rows", f.rows))
	}
	if f.minus == nil {
		return z
	}
	return b.AddRow(z, b.Table(name+"/minus", f.minus))
}

// Quantized are the quantized features of N rows (N×M), kept as their codes: of one codeword
// for each slot q = [c_s(1), …, c_s(w)], of several their sums by shares. They stand for features
// less the model's centre.
type Quantized struct {
	Codes     []int32   // N×p, row by row
	Shares    []float32 // N×p; nil: 1 each
	Codewords []float32 // K×d, row by row
	Slots     int       // w
	Width     int       // d
	CodesOf   int       // of each slot, p/w
	Nearest   int       // as in Sizes
}

var _ data.Rows = (*Quantized)(nil)

// Dims is N and M.
func (q *Quantized) Dims() (n, m int) {
	return len(q.Codes) / (q.Slots * q.CodesOf), q.Slots * q.Width
}

// At is the number at row i, column j.
func (q *Quantized) At(i, j int) float64 {
	if j < 0 || j >= q.Slots*q.Width {
		panic(mat.ErrColAccess)
	}
	var sum float64
	from := (i*q.Slots + j/q.Width) * q.CodesOf
	for at := from; at < from+q.CodesOf; at++ {
		sum += q.share(at) * float64(q.Codewords[int(q.Codes[at])*q.Width+j%q.Width])
	}
	return sum
}

func (q *Quantized) share(at int) float64 {
	if q.Shares == nil {
		return 1
	}
	return float64(q.Shares[at])
}

// Usage counts how often a slot is assigned to each codeword (K), the nearest of each book.
func (q *Quantized) Usage() []int {
	usage := make([]int, len(q.Codewords)/q.Width)
	for at := 0; at < len(q.Codes); at += max(1, q.Nearest) {
		usage[q.Codes[at]]++
	}
	return usage
}

// T is the transpose.
func (q *Quantized) T() mat.Matrix { return mat.Transpose{Matrix: q} }

// Row writes row i to dst.
func (q *Quantized) Row(dst []float64, i int) {
	clear(dst[:q.Slots*q.Width])
	p := q.Slots * q.CodesOf
	for at := i * p; at < (i+1)*p; at++ {
		slot, k, e := at%p/q.CodesOf, int(q.Codes[at]), q.share(at)
		for j, v := range q.Codewords[k*q.Width : (k+1)*q.Width] {
			dst[slot*q.Width+j] += e * float64(v)
		}
	}
}

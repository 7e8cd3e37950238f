package op

import (
	"sync"

	"calibra/graph/simd"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Fuse replaces an op whose input is [Take] of a matrix by one that reads the rows
// where they are, if there is one: [Nearest] and [ScatterAdd] have. Descriptions
// stay as they read best, and the copy of the rows is never made. Gorgonia's own sum,
// by which it accumulates the gradients of a node that is used twice, becomes [Plus],
// which allocates nothing. Every executor has code for what Fuse makes; see [FuseHere].
func Fuse(o gorgonia.Op, inputs []*gorgonia.Node) (gorgonia.Op, []*gorgonia.Node) {
	ours, ok := o.(Op)
	if !ok {
		if x := inputs; len(x) == 2 && IsSum(o) && x[0].Dims() > 0 && x[0].Shape().Eq(x[1].Shape()) {
			return Plus(x[0].Dims()), inputs
		}
		return o, inputs
	}
	switch k := ours.Kernel.(type) {
	case NearestOp:
		if table, rows, ok := taken(inputs[0]); ok {
			return Op{NearestTakenOp{}}, []*gorgonia.Node{table, rows, inputs[1]}
		}
	case ScatterAddOp:
		if table, rows, ok := taken(inputs[1]); ok {
			return Op{ScatterTakenOp(k)}, []*gorgonia.Node{inputs[0], table, rows}
		}
	}
	return o, inputs
}

// FuseHere replaces an op by one that this process alone has code for, if there is one: scores
// and slopes of a product that is too large to be made (dirichletproduct.go).
func FuseHere(o gorgonia.Op, inputs []*gorgonia.Node) (gorgonia.Op, []*gorgonia.Node, bool) {
	if ours, ok := o.(Op); ok {
		if k, in := fuseProduct(ours.Kernel, inputs); k != nil {
			return Op{k}, in, true
		}
	}
	return o, inputs, false
}

// IsSum tells Gorgonia's own addition.
func IsSum(o gorgonia.Op) bool {
	_, ours := o.(Op)
	return !ours && o.Arity() == 2 && o.String() == "+ false"
}

// taken tells whether n is rows of a matrix, and of which.
func taken(n *gorgonia.Node) (table, rows *gorgonia.Node, ok bool) {
	o, ours := n.Op().(Op)
	if !ours || o.Kernel != Kernel(TakeOp{Matrix}) {
		return nil, nil, false
	}
	children := n.Graph().From(n.ID())
	children.Next()
	table = children.Node().(*gorgonia.Node)
	children.Next()
	return table, children.Node().(*gorgonia.Node), true
}

// NearestTakenOp is nearest of rows (B) of a table (N×M), by a codebook (K×d).
type NearestTakenOp struct{}

func (NearestTakenOp) Signature() []Kind { return []Kind{Matrix, Indices, Matrix, Codes} }

func (NearestTakenOp) Shape(in []tensor.Shape) (tensor.Shape, error) {
	return NearestOp{}.Shape([]tensor.Shape{{in[1][0], in[0][1]}, in[2]})
}

func (NearestTakenOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	rows, m, d := Values[int32](in[1]), columns(in[0]), columns(in[2])
	s := Values[int32](out)
	if IsFloat32(in[0]) {
		book := codebooks.Get().(*simd.Codebook)
		words := Values[float32](in[2])
		book.Set(words, len(words)/d, d)
		simd.NearestGathered(s, Values[float32](in[0]), rows, m, book)
		codebooks.Put(book)
		return
	}
	z, c, w := Values[float64](in[0]), Values[float64](in[2]), m/d
	for b, r := range rows {
		assign(s[b*w:(b+1)*w], z[int(r)*m:(int(r)+1)*m], c, d)
	}
}

// ScatterTakenOp is scatterAdd of rows (B) of a table (N×M), by codes (B×w).
type ScatterTakenOp struct{ K int }

func (ScatterTakenOp) Signature() []Kind { return []Kind{Codes, Matrix, Indices, Matrix} }

func (o ScatterTakenOp) Shape(in []tensor.Shape) (tensor.Shape, error) {
	return ScatterAddOp(o).Shape([]tensor.Shape{in[0], {in[2][0], in[1][1]}})
}

func (ScatterTakenOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	s, m, rows, d := Values[int32](in[0]), columns(in[1]), Values[int32](in[2]), columns(out)
	if !IsFloat32(out) {
		sums, x := Values[float64](out), Values[float64](in[1])
		clear(sums)
		for b, r := range rows {
			addSlots(sums, x[int(r)*m:(int(r)+1)*m], s[b*m/d:(b+1)*m/d], d)
		}
		return
	}
	job := scatters.Get().(*scatter)
	*job = scatter{Values[float32](out), Values[float32](in[1]), s, rows, m, d}
	clear(job.sums)
	simd.Run((d+scatterWidth-1)/scatterWidth, job)
	*job = scatter{}
	scatters.Put(job)
}

// scatter is one float32 sum of slots in flight. It is cut by the columns of a slot,
// so that no two blocks write the same sum and the order of additions is fixed.
type scatter struct {
	sums, x []float32
	codes   []int32
	rows    []int32
	m, d    int
}

// scatterWidth is how many columns a block adds, a cache line of them.
const scatterWidth = 16

func (j *scatter) Block(i int) {
	lo := i * scatterWidth
	hi := min(lo+scatterWidth, j.d)
	w := j.m / j.d
	for b, r := range j.rows {
		simd.AddSlots(j.sums, j.x[int(r)*j.m:(int(r)+1)*j.m], j.codes[b*w:(b+1)*w], j.d, lo, hi)
	}
}

var scatters = sync.Pool{New: func() any { return new(scatter) }}

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
// which allocates nothing.
func Fuse(o gorgonia.Op, inputs []*gorgonia.Node) (gorgonia.Op, []*gorgonia.Node) {
	ours, ok := o.(Op)
	if !ok {
		if x := inputs; len(x) == 2 && isSum(o) && x[0].Dims() > 0 && x[0].Shape().Eq(x[1].Shape()) {
			return Plus(x[0].Dims()), inputs
		}
		return o, inputs
	}
	switch k := ours.kernel.(type) {
	case nearest:
		if table, rows, ok := taken(inputs[0]); ok {
			return Op{nearestTaken{}}, []*gorgonia.Node{table, rows, inputs[1]}
		}
	case scatterAdd:
		if table, rows, ok := taken(inputs[1]); ok {
			return Op{scatterTaken(k)}, []*gorgonia.Node{inputs[0], table, rows}
		}
	}
	return o, inputs
}

// taken tells whether n is rows of a matrix, and of which.
func taken(n *gorgonia.Node) (table, rows *gorgonia.Node, ok bool) {
	o, ours := n.Op().(Op)
	if !ours || o.kernel != kernel(take{matrix}) {
		return nil, nil, false
	}
	children := n.Graph().From(n.ID())
	children.Next()
	table = children.Node().(*gorgonia.Node)
	children.Next()
	return table, children.Node().(*gorgonia.Node), true
}

// nearestTaken is nearest of rows (B) of a table (N×M), by a codebook (K×d).
type nearestTaken struct{}

func (nearestTaken) signature() []kind { return []kind{matrix, indices, matrix, codes} }

func (nearestTaken) shape(in []tensor.Shape) (tensor.Shape, error) {
	return nearest{}.shape([]tensor.Shape{{in[1][0], in[0][1]}, in[2]})
}

func (nearestTaken) run(out gorgonia.Value, in []gorgonia.Value) {
	rows, m, d := values[int32](in[1]), columns(in[0]), columns(in[2])
	s := values[int32](out)
	if isFloat32(in[0]) {
		book := codebooks.Get().(*simd.Codebook)
		words := values[float32](in[2])
		book.Set(words, len(words)/d, d)
		simd.NearestGathered(s, values[float32](in[0]), rows, m, book)
		codebooks.Put(book)
		return
	}
	z, c, w := values[float64](in[0]), values[float64](in[2]), m/d
	for b, r := range rows {
		assign(s[b*w:(b+1)*w], z[int(r)*m:(int(r)+1)*m], c, d)
	}
}

// scatterTaken is scatterAdd of rows (B) of a table (N×M), by codes (B×w).
type scatterTaken struct{ K int }

func (scatterTaken) signature() []kind { return []kind{codes, matrix, indices, matrix} }

func (o scatterTaken) shape(in []tensor.Shape) (tensor.Shape, error) {
	return scatterAdd(o).shape([]tensor.Shape{in[0], {in[2][0], in[1][1]}})
}

func (scatterTaken) run(out gorgonia.Value, in []gorgonia.Value) {
	s, m, rows, d := values[int32](in[0]), columns(in[1]), values[int32](in[2]), columns(out)
	if !isFloat32(out) {
		sums, x := values[float64](out), values[float64](in[1])
		clear(sums)
		for b, r := range rows {
			addSlots(sums, x[int(r)*m:(int(r)+1)*m], s[b*m/d:(b+1)*m/d], d)
		}
		return
	}
	job := scatters.Get().(*scatter)
	*job = scatter{values[float32](out), values[float32](in[1]), s, rows, m, d}
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

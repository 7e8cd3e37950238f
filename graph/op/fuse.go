package op

import (
	"fmt"

	"calibra/graph/simd"

	"gorgonia.org/gorgonia"
)

// Fuse replaces an op whose input is [Take] of a matrix by one that reads the rows
// where they are, if there is one: [Nearest] and [ScatterAdd] have. Descriptions
// stay as they read best, and the copy of the rows is never made. Gorgonia's own sum,
// by which it accumulates the gradients of a node that is used twice, becomes [Plus],
// which allocates nothing. Every executor has code for what Fuse makes; see [FuseHere].
func Fuse(o gorgonia.Op, inputs []*Node) (gorgonia.Op, []*Node) {
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
			return Op{NearestTakenOp{}}, []*Node{table, rows, inputs[1]}
		}
	case ScatterAddOp:
		if table, rows, ok := taken(inputs[1]); ok {
			return Op{ScatterTakenOp(k)}, []*Node{inputs[0], table, rows}
		}
	}
	return o, inputs
}

// FuseHere replaces an op by one that this process alone has code for, if there is one: scores
// and slopes of a product that is too large to be made (dirichletproduct.go), and ops that look
// something up in data, which an op of its own then does before them (byplace.go, pieces.go).
// Where the data are those of the step before, a program takes that op once.
func FuseHere(o gorgonia.Op, inputs []*Node) (gorgonia.Op, []*Node, bool) {
	ours, ok := o.(Op)
	if !ok {
		return o, inputs, false
	}
	k, in := fuseProduct(ours.Kernel, inputs)
	if k == nil {
		k, in = lookedUp(ours.Kernel, inputs)
	}
	if k == nil {
		return o, inputs, false
	}
	return Op{k}, in, true
}

// lookedUp is [FuseHere] for ops that look something up; nil where there is nothing to look up.
func lookedUp(k Kernel, inputs []*Node) (Kernel, []*Node) {
	var look, then Kernel
	switch k := k.(type) {
	case TableScatterOp:
		if inputs[1].Shape()[1] > widestPlace {
			return nil, nil
		}
		look, then = byPlaceOp(k), scatterByPlaceOp(k)
	case RampsOp:
		look, then = piecesOp(k), bendPiecesOp(k)
	case RampSumsOp:
		look, then = piecesOp(k), sumPiecesOp(k)
	default:
		return nil, nil
	}
	found, err := Apply(Op{look}, inputs[0])
	if err != nil {
		return nil, nil
	}
	return then, append([]*Node{found}, inputs...)
}

// IsSum reports whether an op is Gorgonia's own addition.
func IsSum(o gorgonia.Op) bool {
	_, ours := o.(Op)
	return !ours && o.Arity() == 2 && o.String() == "+ false"
}

// taken reports whether n is rows of a matrix, and of which.
func taken(n *Node) (table, rows *Node, ok bool) {
	o, ours := n.Op().(Op)
	if !ours || o.Kernel != Kernel(TakeOp{Matrix}) {
		return nil, nil, false
	}
	children := n.Graph().From(n.ID())
	children.Next()
	table = children.Node().(*Node)
	children.Next()
	return table, children.Node().(*Node), true
}

// NearestTakenOp is nearest of rows (B) of a table (N×M), by a codebook (K×d).
type NearestTakenOp struct{}

func (NearestTakenOp) Form() string { return "N M, int B, K d -> int B M/d" }
func (o NearestTakenOp) Run(out Value, in []Value) {
	Dispatch(o, out, in, nearestTaken32, nearestTaken64)
}

func nearestTaken32(_ NearestTakenOp, v Args[float32]) {
	book := codebookOf(v.In(2), v.Columns(2))
	simd.NearestGathered(v.OutInts(), v.In(0), v.Ints(1), v.Columns(0), book)
	codebooks.Put(book)
}

func nearestTaken64(_ NearestTakenOp, v Args[float64]) {
	s, z, c, m, d := v.OutInts(), v.In(0), v.In(2), v.Columns(0), v.Columns(2)
	w := m / d
	for b, r := range v.Ints(1) {
		assign(s[b*w:(b+1)*w], z[int(r)*m:(int(r)+1)*m], c, d)
	}
}

// ScatterTakenOp is scatterAdd of rows (B) of a table (N×M), by codes (B×w).
type ScatterTakenOp struct{ K int }

func (o ScatterTakenOp) Form() string { return fmt.Sprintf("int B w, N M, int B -> %d M/w", o.K) }
func (o ScatterTakenOp) Run(out Value, in []Value) {
	Dispatch(o, out, in, scatterTaken32, scatterTaken64)
}

func scatterTaken32(_ ScatterTakenOp, v Args[float32]) {
	d := v.OutShape()[1]
	clear(v.Out())
	scatters.run((d+scatterWidth-1)/scatterWidth, scatter{v.Out(), v.In(1), v.Ints(0), v.Ints(2), v.Columns(1), d})
}

func scatterTaken64(_ ScatterTakenOp, v Args[float64]) {
	sums, x, s, m, w := v.Out(), v.In(1), v.Ints(0), v.Columns(1), v.Columns(0)
	clear(sums)
	for b, r := range v.Ints(2) {
		addSlots(sums, x[int(r)*m:(int(r)+1)*m], s[b*w:(b+1)*w], m/w)
	}
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

var scatters jobs[scatter, *scatter]

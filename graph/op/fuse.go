package op

import (
	"fmt"
	"math"

	"calibra/graph/simd"
	"calibra/graph/work"

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
// something up in data, which an op of its own then does before them (tables.go, ramps.go).
// If the data are the same as in the step before, a program runs that op once.
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
	var looks []Kernel // the first looks in the first input, the second in the first two
	var then Kernel
	wide := func() bool { return inputs[len(inputs)-1].Shape()[1] > widestPlace }
	switch k := k.(type) {
	case TableScatterOp:
		if wide() {
			return nil, nil
		}
		looks, then = []Kernel{byPlaceOp(k)}, scatterByPlaceOp(k)
	case ShareScatterOp:
		if wide() {
			return nil, nil
		}
		looks, then = []Kernel{listPlacesOp{k.Rows}, listSharesOp{k.Rows}}, scatterListedOp{k.Rows}
	case ShareSumOp:
		inputs = []*Node{inputs[1], inputs[0], inputs[2]}
		looks, then = []Kernel{largestOp{}}, checkedSumOp(k)
	case RampsOp:
		looks, then = []Kernel{piecesOp(k)}, bendOp(k)
	case RampSumsOp:
		looks, then = []Kernel{piecesOp(k)}, sumPiecesOp(k)
	default:
		return nil, nil
	}
	var found []*Node
	for i, look := range looks {
		n, err := Apply(Op{look}, inputs[:i+1]...)
		if err != nil {
			return nil, nil
		}
		found = append(found, n)
	}
	return then, append(found, inputs...)
}

// runLookedUp runs an op that [FuseHere] has not parted: it looks up, and then does what that is for.
func runLookedUp(look, then Kernel, out Value, in []Value) {
	found, err := Op{look}.Do(in[0])
	if err != nil {
		panic(err)
	}
	then.Run(out, append([]Value{found}, in...))
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
	in := InputsOf(n)
	return in[0], in[1], true
}

// InputsOf are the inputs of a node's operation, in order.
func InputsOf(n *Node) (in []*Node) {
	for children := n.Graph().From(n.ID()); children.Next(); {
		in = append(in, children.Node().(*Node))
	}
	return in
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
	Dispatch(o, out, in, scatterTaken32, scatterInOrder[float64])
}

func scatterTaken32(o ScatterTakenOp, v Args[float32]) {
	d := v.OutShape()[1]
	w := v.Columns(1) / d
	if len(v.In(1))/d > math.MaxInt32 { // more slots than there are numbers for
		scatterInOrder(o, v)
		return
	}
	lists := borrow[int32](o.K + len(v.Ints(0)))
	defer lists.back()
	ends, slots := splitLists(lists.values, len(v.Ints(0)))
	listSlots(ends, slots, v.Ints(0), v.Ints(2), w)
	scatters.Run((o.K+scatterWords-1)/scatterWords, scatter{v.Out(), v.In(1), ends, slots, d})
}

// listSlots lists for each codeword the slots of rows, w each and numbered through all rows, that have it, in
// the order of the rows, and where the lists end.
func listSlots(ends, slots, codes, rows []int32, w int) {
	beginLists(ends, codes)
	for b, r := range rows {
		first := r * int32(w)
		for i, k := range codes[b*w : (b+1)*w] {
			slots[ends[k]] = first + int32(i)
			ends[k]++
		}
	}
}

// scatterInOrder adds slot after slot.
func scatterInOrder[F Float](_ ScatterTakenOp, v Args[F]) {
	sums, x, s, m, w := v.Out(), v.In(1), v.Ints(0), v.Columns(1), v.Columns(0)
	clear(sums)
	for b, r := range v.Ints(2) {
		addSlots(sums, x[int(r)*m:(int(r)+1)*m], s[b*w:(b+1)*w], m/w)
	}
}

// scatter is one float32 sum of slots in flight. It is cut by codewords, so that no two blocks write
// the same sum and the order of additions is fixed.
type scatter struct {
	sums, x     []float32
	ends, slots []int32
	d           int
}

// scatterWords is how many codewords a block sums.
const scatterWords = 8

func (j *scatter) Block(i int) {
	lo := i * scatterWords
	begin := int32(0)
	if lo > 0 {
		begin = j.ends[lo-1]
	}
	for k := lo; k < min(lo+scatterWords, len(j.ends)); k++ {
		simd.SumListed(j.sums[k*j.d:(k+1)*j.d], j.x, j.slots[begin:j.ends[k]])
		begin = j.ends[k]
	}
}

var scatters work.Jobs[scatter, *scatter]

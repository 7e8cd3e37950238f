package op

import "fmt"

// CodeSum is s + n·t of codes s and t (B×w each), in int32. With n how many values s has, it is the number of the pair
// (s, t). It has no derivative, nor have [Interleave] and [CompareCodes].
func CodeSum(n int) Op { return Op{CodeSumOp{n}} }

// Interleave lays the columns of n matrices of codes (B×w each) side by side, the first of each, then the second of
// each: B×(w·n). Of the codes of n levels it makes those of w slots with n codes each.
func Interleave(n int) Op { return Op{InterleaveOp{n}} }

// CompareCodes is 0 where a code of s is less than that of t (B×w each), 1 where they are equal, and 2 where it is
// greater: codes by which [Gather] reads a number for each case.
func CompareCodes() Op { return Op{CompareCodesOp{}} }

// CodeSumOp is the op of [CodeSum].
type CodeSumOp struct{ N int }

func (CodeSumOp) Form() string { return "int B w, int B w -> int B w" }

func (o CodeSumOp) Run(out Value, in []Value) {
	sum, t := Values[int32](out), Values[int32](in[1])
	for i, s := range Values[int32](in[0]) {
		sum[i] = s + int32(o.N)*t[i]
	}
}

// InterleaveOp is the op of [Interleave].
type InterleaveOp struct{ N int }

func (o InterleaveOp) Form() string {
	form := "int B w"
	for range o.N - 1 {
		form += ", int B w"
	}
	return fmt.Sprintf("%s -> int B w*%d", form, o.N)
}

func (o InterleaveOp) Run(out Value, in []Value) {
	to := Values[int32](out)
	for k, x := range in {
		for i, s := range Values[int32](x) {
			to[i*o.N+k] = s
		}
	}
}

// CompareCodesOp is the op of [CompareCodes].
type CompareCodesOp struct{}

func (CompareCodesOp) Form() string { return "int B w, int B w -> int B w" }

func (CompareCodesOp) Run(out Value, in []Value) {
	to, t := Values[int32](out), Values[int32](in[1])
	for i, s := range Values[int32](in[0]) {
		to[i] = min(max(s-t[i], -1), 1) + 1
	}
}

// SumBlocks cuts the columns of X (B×M) into groups, and each of these into blocks, which it adds up:
//
//	y_gj = Σ_b x_gbj ,  B×(M/blocks)
//
// Of a form A (B×C², entry i·C+j), SumBlocks(1, C) is Σ_i A_ij and SumBlocks(C, C) is Σ_j A_ij.
func SumBlocks(groups, blocks int) Op { return Op{SumBlocksOp{groups, blocks}} }

// SumBlocksOp is the op of [SumBlocks].
type SumBlocksOp struct{ Groups, Blocks int }

func (o SumBlocksOp) Form() string {
	return fmt.Sprintf("B M -> B M/%d by B where M/%d", o.Blocks, o.Groups*o.Blocks)
}

func (o SumBlocksOp) Run(out Value, in []Value) { Dispatch(o, out, in, sumBlocks, sumBlocks) }

func sumBlocks[F Float](o SumBlocksOp, v Args[F]) {
	y, width := v.Out(), v.Columns(0)/(o.Groups*o.Blocks)
	clear(y)
	for at, x := range v.In(0) {
		y[at/(o.Blocks*width)*width+at%width] += x
	}
}

func (o SumBlocksOp) Grad(_ Nodes, _, g *Node) Nodes { return Nodes{Op{RepeatBlocksOp(o)}.Of(g)} }

// RepeatBlocksOp is the transpose of [SumBlocks], x_gbj = y_gj.
type RepeatBlocksOp struct{ Groups, Blocks int }

func (o RepeatBlocksOp) Form() string {
	return fmt.Sprintf("B M -> B M*%d by B where M/%d", o.Blocks, o.Groups)
}

func (o RepeatBlocksOp) Run(out Value, in []Value) { Dispatch(o, out, in, repeatBlocks, repeatBlocks) }

func repeatBlocks[F Float](o RepeatBlocksOp, v Args[F]) {
	y, width := v.In(0), v.Columns(0)/o.Groups
	x := v.Out()
	for at := range x {
		x[at] = y[at/(o.Blocks*width)*width+at%width]
	}
}

func (o RepeatBlocksOp) Grad(_ Nodes, _, g *Node) Nodes { return Nodes{Op{SumBlocksOp(o)}.Of(g)} }

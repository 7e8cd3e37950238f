package op

// Leaves assigns to each slot of z (B×M) its leaf in a tree of its own (w×D columns of a slot,
// w×D edges): a bit for each of D levels, the first the largest, 1 where the level's column lies
// above its edge,
//
//	s(i) = i·2^D + Σ_l 2^(D−1−l) 1[z⁽ⁱ⁾_j(i,l) > e_il]
//
// Columns are whole numbers, those that a slot lacks its first or last. Codes (B×w) have no derivative.
func Leaves() Op { return Op{LeavesOp{}} }

// LeavesOp is the op of [Leaves].
type LeavesOp struct{}

func (LeavesOp) Form() string                { return "B M, w D, w D -> int B w where M/w" }
func (o LeavesOp) Run(out Value, in []Value) { Dispatch(o, out, in, leaves, leaves) }

func leaves[F Float](_ LeavesOp, v Args[F]) {
	codes, z, columns, edges, levels := v.OutInts(), v.In(0), v.In(1), v.In(2), v.Columns(1)
	w := v.Shape(1)[0]
	d := v.Columns(0) / w
	rowwise(len(codes)/w, func(lo, hi int) {
		for at := lo * w; at < hi*w; at++ {
			slot, leaf := z[at*d:(at+1)*d], int32(at%w)
			for l := at % w * levels; l < (at%w+1)*levels; l++ {
				if leaf *= 2; slot[min(max(int(columns[l]), 0), d-1)] > edges[l] {
					leaf++
				}
			}
			codes[at] = leaf
		}
	})
}

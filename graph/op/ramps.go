package op

import (
	"fmt"
	"sort"

	"calibra/graph/work"
)

// Ramps passes each element of Z (B×C) through a function that is linear between knots, which
// ascend, and 0 at 0. P slopes v (P×1), one more than there are knots, are the weights of ramps:
//
//	f(z) = Σ_m v_m r_m(z) ,  r_m(z) = ∫_0^z 1[knot_m−1 < t ≤ knot_m] dt
//
// No ramp stands in memory: an element needs its own piece's and the value where that begins.
// Z is data, f is differentiated by v alone. Sums are taken in float64 for either type.
func Ramps(knots []float64) Op { return Op{RampsOp{knots}} }

// RampsOp is the op of [Ramps].
type RampsOp struct{ Knots []float64 }

func (o RampsOp) Form() string              { return fmt.Sprintf("B C, %d 1 -> B C", len(o.Knots)+1) }
func (o RampsOp) Run(out Value, in []Value) { runLookedUp(piecesOp(o), bendOp(o), out, in) }

// line is the knots as an element looks itself up.
type line struct {
	knots []float64
	// Piece m begins at near[m] and ends at far[m], seen from 0; the outermost do not end. That
	// around 0, middle, begins there, ends at far[m] on the right and at left on the other side.
	near, far []float64
	middle    int
	left      float64
	first     [cells]int32 // the piece where a cell begins, of so many between the outermost knots
	scale     float64      // cells for each unit
}

const cells = 64

func newLine(knots []float64) *line {
	p := len(knots) + 1
	l := &line{knots: knots, near: make([]float64, p), far: make([]float64, p)}
	for _, k := range knots {
		if k <= 0 {
			l.middle, l.left = l.middle+1, k
		}
	}
	for m, k := range knots {
		if m < l.middle {
			l.near[m] = k
		} else {
			l.near[m+1], l.far[m] = k, k
		}
	}
	for m := 1; m < l.middle; m++ {
		l.far[m] = knots[m-1]
	}
	if p > 2 {
		l.scale = cells / (knots[p-2] - knots[0])
		for c := range l.first {
			l.first[c] = int32(sort.Search(len(knots), func(m int) bool { return knots[m] > knots[0]+float64(c)/l.scale }))
		}
	}
	return l
}

// piece is the number of the piece that z lies in; at a knot, either beside it.
func (l *line) piece(z float64) int {
	m := 0
	if len(l.knots) > 0 {
		if c := (z - l.knots[0]) * l.scale; c > 0 {
			m = int(l.first[int(min(c, cells-1))])
		}
	}
	for m < len(l.knots) && z > l.knots[m] {
		m++
	}
	return m
}

// rampBlock is how many elements one call works on, whatever the number of threads.
const rampBlock = 1 << 16

// bent is f by the slopes v: start + slope·z on each piece.
func bent[F Float](l *line, v []F) (start, slope []float64) {
	start, slope = make([]float64, len(v)), make([]float64, len(v))
	along := func(m int, at float64) float64 {
		slope[m] = float64(v[m])
		start[m] = at - slope[m]*l.near[m]
		return at + slope[m]*(l.far[m]-l.near[m])
	}
	at := 0.0 // f where the piece begins
	for m := l.middle; m < len(v); m++ {
		at = along(m, at)
	}
	at = slope[l.middle] * l.left
	for m := l.middle - 1; m >= 0; m-- {
		at = along(m, at)
	}
	return start, slope
}

func (RampsOp) WRT() []bool { return []bool{false, true} }

func (o RampsOp) Grad(in Nodes, _, g *Node) Nodes { return Nodes{nil, Op{RampSumsOp(o)}.Of(in[0], g)} }

// RampSumsOp is the transpose of [RampsOp]: h_m = Σ_bj G_bj r_m(z_bj), from Z and G (B×C) to
// P×1.
type RampSumsOp struct{ Knots []float64 }

func (o RampSumsOp) Form() string              { return fmt.Sprintf("B C, B C -> %d 1", len(o.Knots)+1) }
func (o RampSumsOp) Run(out Value, in []Value) { runLookedUp(piecesOp(o), sumPiecesOp(o), out, in) }

func (RampSumsOp) WRT() []bool { return []bool{false, true} }

func (o RampSumsOp) Grad(in Nodes, _, g *Node) Nodes { return Nodes{nil, Op{RampsOp(o)}.Of(in[0], g)} }

// piecesOp finds for each element of Z (B×C) the piece between the knots of [Ramps] in which it lies.
type piecesOp struct{ Knots []float64 }

func (piecesOp) Form() string                { return "B C -> int B C" }
func (o piecesOp) Run(out Value, in []Value) { Dispatch(o, out, in, pieces, pieces) }

func pieces[F Float](o piecesOp, v Args[F]) {
	found, z, l := v.OutInts(), v.In(0), newLine(o.Knots)
	work.Ranges(len(z), rampBlock, func(lo, hi int) {
		for i, x := range z[lo:hi] {
			found[lo+i] = int32(l.piece(float64(x)))
		}
	})
}

// bendOp is [Ramps] of elements whose pieces are known.
type bendOp struct{ Knots []float64 }

func (o bendOp) Form() string              { return fmt.Sprintf("int B C, B C, %d 1 -> B C", len(o.Knots)+1) }
func (o bendOp) Run(out Value, in []Value) { Dispatch(o, out, in, bend, bend) }

func bend[F Float](o bendOp, v Args[F]) {
	y, pieces, z := v.Out(), v.Ints(0), v.In(1)
	start, slope := bent(newLine(o.Knots), v.In(2))
	work.Ranges(len(z), rampBlock, func(lo, hi int) {
		y, pieces := y[lo:hi], pieces[lo:hi]
		for i, x := range z[lo:hi] {
			m := pieces[i]
			y[i] = F(start[m] + slope[m]*float64(x))
		}
	})
}

// sumPiecesOp is the transpose of [Ramps] for elements whose pieces are known. An element further
// out than a piece has the whole of it.
type sumPiecesOp struct{ Knots []float64 }

func (o sumPiecesOp) Form() string              { return fmt.Sprintf("int B C, B C, B C -> %d 1", len(o.Knots)+1) }
func (o sumPiecesOp) Run(out Value, in []Value) { Dispatch(o, out, in, sumPieces, sumPieces) }

func sumPieces[F Float](o sumPiecesOp, v Args[F]) {
	h, pieces, z, g, l := v.Out(), v.Ints(0), v.In(1), v.In(2), newLine(o.Knots)
	p, blocks := len(h), (len(z)+rampBlock-1)/rampBlock
	sums := make([]float64, 2*p*blocks) // of each block Σ g, then Σ g·z
	work.Each(blocks, 1, func(b int) {
		lo, hi := b*rampBlock, min((b+1)*rampBlock, len(z))
		count, moment, weight, pieces := sums[2*p*b:][:p], sums[2*p*b+p:][:p], g[lo:hi], pieces[lo:hi]
		for i, x := range z[lo:hi] {
			m := pieces[i]
			count[m] += float64(weight[i])
			moment[m] += float64(weight[i]) * float64(x)
		}
	})
	for b := 1; b < blocks; b++ {
		for m := range 2 * p {
			sums[m] += sums[2*p*b+m]
		}
	}
	count, moment := sums[:p], sums[p:]
	left, right := 0.0, 0.0 // Σ g further out
	for m := range l.middle {
		h[m] = F(moment[m] - l.near[m]*count[m] + (l.far[m]-l.near[m])*left)
		left += count[m]
	}
	for m := p - 1; m > l.middle; m-- {
		h[m] = F(moment[m] - l.near[m]*count[m] + (l.far[m]-l.near[m])*right)
		right += count[m]
	}
	h[l.middle] = F(moment[l.middle] + l.far[l.middle]*right + l.left*left)
}

package op

import "fmt"

// piecesOp says of each element of Z (B×C) in which piece between the knots of [Ramps] it lies.
type piecesOp struct{ Knots []float64 }

func (piecesOp) Form() string { return "B C -> int B C" }

func (o piecesOp) Run(out Value, in []Value) {
	pieces := Values[int32](out)
	if IsFloat32(in[0]) {
		piecesOf(pieces, Values[float32](in[0]), newLine(o.Knots))
	} else {
		piecesOf(pieces, Values[float64](in[0]), newLine(o.Knots))
	}
}

func piecesOf[F Float](pieces []int32, z []F, l *line) {
	inBlocks(len(z), rampBlock, func(lo, hi int) {
		for i, x := range z[lo:hi] {
			pieces[lo+i] = int32(l.piece(float64(x)))
		}
	})
}

// bendPiecesOp is [Ramps] of elements whose pieces are known.
type bendPiecesOp struct{ Knots []float64 }

func (o bendPiecesOp) Form() string {
	return fmt.Sprintf("int B C, B C, %d 1 -> B C", len(o.Knots)+1)
}

func (o bendPiecesOp) Run(out Value, in []Value) {
	Dispatch(o, out, in, bendPieces[float32], bendPieces[float64])
}

func bendPieces[F Float](o bendPiecesOp, args Args[F]) {
	y, pieces, z := args.Out(), args.Ints(0), args.In(1)
	start, slope := bent(newLine(o.Knots), args.In(2))
	inBlocks(len(z), rampBlock, func(lo, hi int) {
		y, pieces := y[lo:hi], pieces[lo:hi]
		for i, x := range z[lo:hi] {
			m := pieces[i]
			y[i] = F(start[m] + slope[m]*float64(x))
		}
	})
}

// sumPiecesOp is the transpose of [Ramps] for elements whose pieces are known.
type sumPiecesOp struct{ Knots []float64 }

func (o sumPiecesOp) Form() string {
	return fmt.Sprintf("int B C, B C, B C -> %d 1", len(o.Knots)+1)
}

func (o sumPiecesOp) Run(out Value, in []Value) {
	Dispatch(o, out, in, sumByPieces[float32], sumByPieces[float64])
}

func sumByPieces[F Float](o sumPiecesOp, v Args[F]) {
	pieces, z, g := v.Ints(0), v.In(1), v.In(2)
	sumPieces(v.Out(), newLine(o.Knots), len(z), func(lo, hi int, count, moment []float64) {
		weight, pieces := g[lo:hi], pieces[lo:hi]
		for i, x := range z[lo:hi] {
			m := pieces[i]
			count[m] += float64(weight[i])
			moment[m] += float64(weight[i]) * float64(x)
		}
	})
}

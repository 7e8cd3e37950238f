package op

import (
	"calibra/graph/simd"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// ShareSum is the product E·T of a sparse matrix E (B×R) with a table T (R×C). Row b of E is
// given by p places of the table with their shares (B×p each):
//
//	y_b = Σ_j e_bj T[place_bj]
//
// Places go slot by slot: those of the i-th of w slots lie in the i-th of w equal parts of the
// table. With one place for each slot and shares of 1 it is [TableSum].
func ShareSum(w int) Op { return Op{ShareSumOp{w}} }

// ShareScatter is its transpose, Eᵀ·x of x (B×C), for a table of that many rows.
func ShareScatter(w, rows int) Op { return Op{ShareScatterOp{w, rows}} }

// ShareSumOp is the op of [ShareSum].
type ShareSumOp struct{ Slots int }

func (ShareSumOp) Signature() []Kind { return []Kind{Matrix, Codes, Matrix, Matrix} }

func (o ShareSumOp) Shape(in []tensor.Shape) (tensor.Shape, error) {
	if !in[1].Eq(in[2]) || in[1][1]%o.Slots != 0 || in[0][0]%o.Slots != 0 {
		return nil, errShapes
	}
	return tensor.Shape{in[1][0], in[0][1]}, nil
}

func (o ShareSumOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	places, p, c := Values[int32](in[1]), columns(in[1]), columns(out)
	if IsFloat32(out) {
		sumShares(Values[float32](out), Values[float32](in[0]), places, Values[float32](in[2]), p, c, simd.Axpy)
	} else {
		sumShares(Values[float64](out), Values[float64](in[0]), places, Values[float64](in[2]), p, c, axpy)
	}
}

func sumShares[F Float](y, table []F, places []int32, shares []F, p, c int, add func(y []F, a F, x []F)) {
	rowwise(len(places)/p, func(lo, hi int) {
		clear(y[lo*c : hi*c])
		for b := lo; b < hi; b++ {
			row := y[b*c : (b+1)*c]
			for j, e := range shares[b*p : (b+1)*p] {
				if e != 0 {
					add(row, e, table[int(places[b*p+j])*c:][:c])
				}
			}
		}
	})
}

// axpy is [simd.Axpy] in double precision.
func axpy(y []float64, a float64, x []float64) {
	for i, v := range x {
		y[i] += a * v
	}
}

func (ShareSumOp) WRT() []bool { return []bool{true, false, false} }

func (o ShareSumOp) Grad(in gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c Grads
	return gorgonia.Nodes{c.Apply(ShareScatter(o.Slots, in[0].Shape()[0]), in[1], in[2], g), nil, nil}, c.Err
}

// ShareScatterOp is the op of [ShareScatter].
type ShareScatterOp struct{ Slots, Rows int }

func (ShareScatterOp) Signature() []Kind { return []Kind{Codes, Matrix, Matrix, Matrix} }

func (o ShareScatterOp) Shape(in []tensor.Shape) (tensor.Shape, error) {
	if !in[0].Eq(in[1]) || in[0][0] != in[2][0] || in[0][1]%o.Slots != 0 || o.Rows%o.Slots != 0 {
		return nil, errShapes
	}
	return tensor.Shape{o.Rows, in[2][1]}, nil
}

func (o ShareScatterOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	places := Values[int32](in[0])
	if IsFloat32(out) {
		scatterShares(o, Values[float32](out), places, Values[float32](in[1]), Values[float32](in[2]), columns(in[0]), columns(out), simd.Axpy)
	} else {
		scatterShares(o, Values[float64](out), places, Values[float64](in[1]), Values[float64](in[2]), columns(in[0]), columns(out), axpy)
	}
}

// scatterShares gives each thread some slots, since their parts of the table are apart.
func scatterShares[F Float](o ShareScatterOp, table []F, places []int32, shares, x []F, p, c int, add func(y []F, a F, x []F)) {
	clear(table)
	stretch := max(1, o.Slots/(4*simd.Threads()))
	parallel((o.Slots+stretch-1)/stretch, func(block int) {
		lo, hi := block*stretch*p/o.Slots, min((block+1)*stretch, o.Slots)*p/o.Slots
		for b := range len(places) / p {
			row := x[b*c : (b+1)*c]
			for j := b*p + lo; j < b*p+hi; j++ {
				if e := shares[j]; e != 0 {
					add(table[int(places[j])*c:][:c], e, row)
				}
			}
		}
	})
}

func (ShareScatterOp) WRT() []bool { return []bool{false, false, true} }

func (o ShareScatterOp) Grad(in gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c Grads
	return gorgonia.Nodes{nil, nil, c.Apply(ShareSum(o.Slots), g, in[0], in[1])}, c.Err
}

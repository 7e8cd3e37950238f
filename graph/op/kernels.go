package op

import (
	"fmt"
	"math"

	"calibra/graph/simd"
	"calibra/graph/work"

	"gonum.org/v1/gonum/blas"
)

// Gaussian is the kernel K_ij = exp(−c·‖x_i − y_j‖²) between the rows of X (B×d)
// and of Y (J×d): a B×J matrix. c is positive.
func Gaussian(c float64) Op {
	if !(c > 0) {
		panic(fmt.Sprintf("op: a Gaussian kernel with c = %v, which is not positive", c))
	}
	return Op{GaussianOp{c}}
}

// OmitSelf sets K_ij (B×J) to 0 where i and j are the same row of a table, by the
// row numbers of the B (int32) and of the J (int32).
func OmitSelf() Op { return Op{OmitSelfOp{}} }

// GaussianOp is the op of [Gaussian].
type GaussianOp struct{ C float64 }

func (GaussianOp) Form() string                { return "B d, J d -> B J" }
func (o GaussianOp) Run(out Value, in []Value) { Dispatch(o, out, in, gaussian32, gaussian64) }

func gaussian32(o GaussianOp, v Args[float32]) {
	k, x, cols, d := v.Out(), v.In(0), v.Shape(1)[0], v.Columns(0)
	squares, gamma := innerProducts(v), float32(math.Sqrt(1/(2*o.C)))
	work.Each(len(x)/d, kernelRows, func(i int) {
		simd.GaussianRow(k[i*cols:(i+1)*cols], squares, squaredNorm(x[i*d:(i+1)*d]), gamma)
	})
}

// kernelRows is how many rows of a kernel matrix one thread takes at a time.
const kernelRows = 32

func gaussian64(o GaussianOp, v Args[float64]) {
	k, x, cols, d := v.Out(), v.In(0), v.Shape(1)[0], v.Columns(0)
	squares := innerProducts(v)
	for i := range len(x) / d {
		own := squaredNorm(x[i*d : (i+1)*d])
		for j := range cols {
			k[i*cols+j] = math.Exp(-o.C * max(0, own+squares[j]-2*k[i*cols+j]))
		}
	}
}

// innerProducts sets the output to x_i·y_j and gives ‖y_j‖².
func innerProducts[F Float](v Args[F]) (squares []F) {
	d, cols := v.Columns(0), v.Shape(1)[0]
	gemm(blas.NoTrans, blas.Trans, v.Shape(0)[0], cols, d, v.In(0), d, v.In(1), d, 0, v.Out(), cols)
	return squaredNorms(v.In(1), d)
}

func squaredNorms[F Float](x []F, d int) []F {
	s := make([]F, len(x)/d)
	for i := range s {
		s[i] = squaredNorm(x[i*d : (i+1)*d])
	}
	return s
}

func squaredNorm[F Float](x []F) F {
	var s float64
	for _, v := range x {
		s += float64(v) * float64(v)
	}
	return F(s)
}

func (o GaussianOp) Grad(in Nodes, out, g *Node) Nodes {
	e := Times(2).Of(out, g) // E = K ⊙ ∂L/∂K
	return Nodes{Op{PullOp{o.C, blas.NoTrans}}.Of(e, in[0], in[1]), Op{PullOp{o.C, blas.Trans}}.Of(e, in[1], in[0])}
}

// PullOp is 2c Σ_j E_ij (y_j − x_i) for each row x_i, with Eᵀ in place of E for
// blas.Trans: how the kernel's gradient moves the points X that own the rows of E,
// or its columns.
type PullOp struct {
	C float64
	E blas.Transpose
}

func (o PullOp) Form() string              { return turned("B J", o.E) + ", B d, J d -> B d" }
func (o PullOp) Run(out Value, in []Value) { Dispatch(o, out, in, pull, pull) }

func pull[F Float](o PullOp, v Args[F]) {
	out, e, x := v.Out(), v.In(0), v.In(1)
	rows, cols := oriented(v.Shape(0), o.E)
	d, width := v.Columns(1), v.Columns(0)
	scaledGemm(F(2*o.C), o.E, blas.NoTrans, rows, d, cols, e, width, v.In(2), d, 0, out, d)
	// less 2c x_i Σ_j E_ij
	sums := make([]float64, rows)
	for r := 0; r < len(e); r += width {
		if o.E == blas.NoTrans {
			sums[r/width] = total(e[r : r+width])
			continue
		}
		for j, v := range e[r : r+width] {
			sums[j] += float64(v)
		}
	}
	for i, s := range sums {
		w := F(2 * o.C * s)
		for j := i * d; j < (i+1)*d; j++ {
			out[j] -= w * x[j]
		}
	}
}

// OmitSelfOp is the op of [OmitSelf].
type OmitSelfOp struct{}

func (OmitSelfOp) Form() string                { return "B J, int B, int J -> B J" }
func (o OmitSelfOp) Run(out Value, in []Value) { Dispatch(o, out, in, omitSelf, omitSelf) }

func omitSelf[F Float](_ OmitSelfOp, v Args[F]) {
	out, cols := v.Out(), v.Ints(2)
	copy(out, v.In(0))
	for i, r := range v.Ints(1) {
		for j, c := range cols {
			if r == c {
				out[i*len(cols)+j] = 0
			}
		}
	}
}

func (o OmitSelfOp) Grad(in Nodes, _, g *Node) Nodes {
	return Nodes{Op{o}.Of(g, in[1], in[2]), nil, nil}
}

// shareFloor bounds what [Shares] gives away from 0 and 1, and is added to its
// denominator, as in the published Local Nets.
const shareFloor = 1e-6

// Shares divides each row of a non-negative K (B×J) by its sum and clamps:
//
//	w_ij = clamp(K_ij / (Σ_l K_il + ε), ε, 1 − ε) ,  ε = ShareFloor
//
// A clamped share has no gradient.
func Shares() Op { return Op{SharesOp{}} }

// SharesOp is the op of [Shares].
type SharesOp struct{}

func (SharesOp) Form() string                { return AlikeByRow(Matrix, 1) }
func (o SharesOp) Run(out Value, in []Value) { Dispatch(o, out, in, shares, shares) }

func shares[F Float](_ SharesOp, v Args[F]) {
	out, k, c := v.Out(), v.In(0), v.Columns(0)
	work.Each(len(k)/c, kernelRows, func(i int) {
		row, w := k[i*c:(i+1)*c], out[i*c:(i+1)*c]
		n := F(total(row) + shareFloor)
		for j, v := range row {
			w[j] = min(max(v/n, shareFloor), 1-shareFloor)
		}
	})
}

func (SharesOp) Grad(in Nodes, _, g *Node) Nodes { return Nodes{Op{SharesGradOp{}}.Of(in[0], g)} }

// SharesGradOp is (h_j − Σ_l h_l K_l/n) / n along each row, with n = Σ_l K_l + ε and
// h = g where the share is not clamped, 0 elsewhere.
type SharesGradOp struct{}

func (SharesGradOp) Form() string { return AlikeByRow(Matrix, 2) }
func (o SharesGradOp) Run(out Value, in []Value) {
	Dispatch(o, out, in, shareGradients, shareGradients)
}

func shareGradients[F Float](_ SharesGradOp, v Args[F]) {
	dk, k, dw, c := v.Out(), v.In(0), v.In(1), v.Columns(0)
	work.Each(len(k)/c, kernelRows, func(i int) {
		row, out, g := k[i*c:(i+1)*c], dk[i*c:(i+1)*c], dw[i*c:(i+1)*c]
		n := F(total(row) + shareFloor)
		var mean float64
		for j, v := range row {
			if w := v / n; w > shareFloor && w < 1-shareFloor {
				out[j] = g[j]
				mean += float64(g[j]) * float64(w)
			} else {
				out[j] = 0
			}
		}
		for j := range out {
			out[j] = (out[j] - F(mean)) / n
		}
	})
}

// Background draws rows for a kernel estimate, some of each class without
// replacement: its inputs are all row numbers sorted by class (N), where each class
// begins in them (C+1), the class of each place of the result (J, ascending), and
// the step number t (1). The draw is a hash of the seed, t and the place, as in
// [Dropout]. No class is asked for more rows than it has.
func Background(seed uint64) Op { return Op{BackgroundOp{seed}} }

// BackgroundOp is the op of [Background].
type BackgroundOp struct{ Seed uint64 }

func (BackgroundOp) Form() string { return "int N, int L, int J, 1 -> int J" }
func (o BackgroundOp) Run(out Value, in []Value) {
	Dispatch(o, out, in, drawBackground, drawBackground)
}

func drawBackground[F Float](o BackgroundOp, v Args[F]) {
	rows, sorted, begins, classes, t := v.OutInts(), v.Ints(0), v.Ints(1), v.Ints(2), uint64(v.In(3)[0])
	key := mix(o.Seed + mix(t))
	for lo := 0; lo < len(classes); {
		class, hi := classes[lo], lo+1
		for hi < len(classes) && classes[hi] == class {
			hi++
		}
		drawWithout(rows[lo:hi], sorted[begins[class]:begins[class+1]], key+uint64(lo))
		lo = hi
	}
}

// drawWithout fills out with distinct elements of from (Floyd's algorithm, Bentley
// and Floyd 1987).
func drawWithout(out, from []int32, key uint64) {
	for i := range out {
		last := len(from) - len(out) + i
		pick := from[mix(key+uint64(i))%uint64(last+1)]
		for _, taken := range out[:i] {
			if taken == pick {
				pick = from[last]
				break
			}
		}
		out[i] = pick
	}
}

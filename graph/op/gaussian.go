package op

import (
	"fmt"
	"math"

	ours "calibra/graph/blas"
	"calibra/graph/simd"

	"gonum.org/v1/gonum/blas"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
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

func (GaussianOp) Signature() []Kind { return []Kind{Matrix, Matrix, Matrix} }

func (GaussianOp) Shape(in []tensor.Shape) (tensor.Shape, error) {
	if in[0][1] != in[1][1] {
		return nil, errShapes
	}
	return tensor.Shape{in[0][0], in[1][0]}, nil
}

func (o GaussianOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	rows, cols, d := in[0].Shape()[0], in[1].Shape()[0], columns(in[0])
	if IsFloat32(out) {
		k, x, y := Values[float32](out), Values[float32](in[0]), Values[float32](in[1])
		ours.Current().Sgemm(blas.NoTrans, blas.Trans, rows, cols, d, 1, x, d, y, d, 0, k, cols)
		simd.Run((rows+kernelRows-1)/kernelRows, &gaussianRows{k, x, squaredNorms(y, d), d, float32(math.Sqrt(1 / (2 * o.C)))})
		return
	}
	k, x, y := Values[float64](out), Values[float64](in[0]), Values[float64](in[1])
	ours.Current().Dgemm(blas.NoTrans, blas.Trans, rows, cols, d, 1, x, d, y, d, 0, k, cols)
	squares := squaredNorms(y, d)
	for i := range rows {
		own := squaredNorm(x[i*d : (i+1)*d])
		for j := range cols {
			k[i*cols+j] = math.Exp(-o.C * max(0, own+squares[j]-2*k[i*cols+j]))
		}
	}
}

// kernelRows is how many rows of a kernel matrix one thread takes at a time.
const kernelRows = 32

// gaussianRows turns products x_i·y_j into kernel values, in blocks of rows.
type gaussianRows struct {
	k, x, squares []float32
	d             int
	gamma         float32
}

func (g *gaussianRows) Block(block int) {
	cols := len(g.squares)
	for i := block * kernelRows; i < min((block+1)*kernelRows, len(g.x)/g.d); i++ {
		simd.GaussianRow(g.k[i*cols:(i+1)*cols], g.squares, squaredNorm(g.x[i*g.d:(i+1)*g.d]), g.gamma)
	}
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

func (GaussianOp) WRT() []bool { return []bool{true, true} }

func (o GaussianOp) Grad(in gorgonia.Nodes, out, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c Grads
	e := c.Apply(Times(2), out, g) // E = K ⊙ ∂L/∂K
	dx := c.Apply(Op{PullOp{o.C, blas.NoTrans}}, e, in[0], in[1])
	dy := c.Apply(Op{PullOp{o.C, blas.Trans}}, e, in[1], in[0])
	return gorgonia.Nodes{dx, dy}, c.Err
}

// PullOp is 2c Σ_j E_ij (y_j − x_i) for each row x_i, with Eᵀ in place of E for
// blas.Trans: how the kernel's gradient moves the points X that own the rows of E,
// or its columns.
type PullOp struct {
	C float64
	E blas.Transpose
}

func (PullOp) Signature() []Kind { return []Kind{Matrix, Matrix, Matrix, Matrix} }

func (o PullOp) Shape(in []tensor.Shape) (tensor.Shape, error) {
	rows, cols := oriented(in[0], o.E)
	if rows != in[1][0] || cols != in[2][0] || in[1][1] != in[2][1] {
		return nil, errShapes
	}
	return in[1].Clone(), nil
}

func (o PullOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	rows, cols := oriented(in[0].Shape(), o.E)
	d, width := columns(out), columns(in[0])
	if IsFloat32(out) {
		e, x, y := Values[float32](in[0]), Values[float32](in[1]), Values[float32](in[2])
		ours.Current().Sgemm(o.E, blas.NoTrans, rows, d, cols, float32(2*o.C), e, width, y, d, 0, Values[float32](out), d)
		subtractWeighted(Values[float32](out), x, e, width, o, rows)
	} else {
		e, x, y := Values[float64](in[0]), Values[float64](in[1]), Values[float64](in[2])
		ours.Current().Dgemm(o.E, blas.NoTrans, rows, d, cols, 2*o.C, e, width, y, d, 0, Values[float64](out), d)
		subtractWeighted(Values[float64](out), x, e, width, o, rows)
	}
}

// subtractWeighted subtracts 2c x_i Σ_j E_ij from each row of out.
func subtractWeighted[F Float](out, x, e []F, width int, o PullOp, rows int) {
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
	d := len(out) / rows
	for i, s := range sums {
		w := F(2 * o.C * s)
		for j := i * d; j < (i+1)*d; j++ {
			out[j] -= w * x[j]
		}
	}
}

// OmitSelfOp is the op of [OmitSelf].
type OmitSelfOp struct{}

func (OmitSelfOp) Signature() []Kind { return []Kind{Matrix, Indices, Indices, Matrix} }

func (OmitSelfOp) Shape(in []tensor.Shape) (tensor.Shape, error) {
	if in[0][0] != in[1][0] || in[0][1] != in[2][0] {
		return nil, errShapes
	}
	return in[0].Clone(), nil
}

func (OmitSelfOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	rows, cols := Values[int32](in[1]), Values[int32](in[2])
	if IsFloat32(out) {
		omit(Values[float32](out), Values[float32](in[0]), rows, cols)
	} else {
		omit(Values[float64](out), Values[float64](in[0]), rows, cols)
	}
}

func omit[F Float](out, k []F, rows, cols []int32) {
	copy(out, k)
	for i, r := range rows {
		for j, c := range cols {
			if r == c {
				out[i*len(cols)+j] = 0
			}
		}
	}
}

func (OmitSelfOp) WRT() []bool { return []bool{true, false, false} }

func (o OmitSelfOp) Grad(in gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c Grads
	return gorgonia.Nodes{c.Apply(Op{o}, g, in[1], in[2]), nil, nil}, c.Err
}

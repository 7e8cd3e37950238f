package op

import (
	"math"

	"calibra/graph/simd"
)

// Softmax is exp x_j / Σ_l exp x_l along each row of X (B×C), from the row's
// maximum, so that no finite input overflows.
func Softmax() Op { return Op{SoftmaxOp{}} }

// SoftmaxOp is the op of [Softmax].
type SoftmaxOp struct{}

func (SoftmaxOp) Form() string                { return AlikeByRow(Matrix, 1) }
func (o SoftmaxOp) Run(out Value, in []Value) { Dispatch(o, out, in, softmax, softmax) }

func softmax[F Float](_ SoftmaxOp, v Args[F]) {
	out, x, c := v.Out(), v.In(0), v.Columns(0)
	exp := pick[func(dst, x []F)](simd.Exp, exp64)
	rowwise(len(x)/c, func(lo, hi int) {
		for at := lo * c; at < hi*c; at += c {
			top := x[at]
			for _, v := range x[at+1 : at+c] {
				top = max(top, v)
			}
			for j, v := range x[at : at+c] {
				out[at+j] = v - top
			}
		}
		exp(out[lo*c:hi*c], out[lo*c:hi*c])
		for at := lo * c; at < hi*c; at += c {
			row := out[at : at+c]
			scaleTo(row, row, 1/sumOf(row))
		}
	})
}

// exp64 is [simd.Exp] in double precision.
func exp64(dst, x []float64) {
	for i, v := range x {
		dst[i] = math.Exp(v)
	}
}

func (SoftmaxOp) Grad(_ Nodes, out, g *Node) (Nodes, error) {
	return Nodes{Op{SoftmaxGradOp{}}.Of(out, g)}, nil
}

// SoftmaxGradOp is y_j (g_j − Σ_l g_l y_l), from y = Softmax(x) and g.
type SoftmaxGradOp struct{}

func (SoftmaxGradOp) Form() string { return AlikeByRow(Matrix, 2) }
func (o SoftmaxGradOp) Run(out Value, in []Value) {
	Dispatch(o, out, in, softmaxGradients, softmaxGradients)
}

func softmaxGradients[F Float](_ SoftmaxGradOp, v Args[F]) {
	out, y, g, c := v.Out(), v.In(0), v.In(1), v.Columns(0)
	inRows(len(y)/c, rowBlock, func(i int) {
		row, gradients, dst := y[i*c:(i+1)*c], g[i*c:(i+1)*c], out[i*c:(i+1)*c]
		mean := centredProduct(row, 0, gradients)
		for j, v := range row {
			dst[j] = v * (gradients[j] - mean)
		}
	})
}

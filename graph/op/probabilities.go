package op

import (
	"math"

	"calibra/graph/simd"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Softmax is exp x_j / Σ_l exp x_l along each row of X (B×C), from the row's
// maximum, so that no finite input overflows.
func Softmax() Op { return Op{SoftmaxOp{}} }

// SoftmaxOp is the op of [Softmax].
type SoftmaxOp struct{}

func (SoftmaxOp) Signature() []Kind { return []Kind{Matrix, Matrix} }

func (SoftmaxOp) Shape(in []tensor.Shape) (tensor.Shape, error) { return SameShape(in) }

func (SoftmaxOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	if IsFloat32(out) {
		softmaxRows(Values[float32](out), Values[float32](in[0]), columns(out), simd.Exp)
	} else {
		softmaxRows(Values[float64](out), Values[float64](in[0]), columns(out), func(dst, x []float64) {
			for i, v := range x {
				dst[i] = math.Exp(v)
			}
		})
	}
}

func softmaxRows[F Float](out, x []F, c int, exp func(dst, x []F)) {
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

func (SoftmaxOp) WRT() []bool { return []bool{true} }

func (SoftmaxOp) Grad(_ gorgonia.Nodes, out, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c Grads
	return gorgonia.Nodes{c.Apply(Op{SoftmaxGradOp{}}, out, g)}, c.Err
}

// SoftmaxGradOp is y_j (g_j − Σ_l g_l y_l), from y = Softmax(x) and g.
type SoftmaxGradOp struct{}

func (SoftmaxGradOp) Signature() []Kind { return []Kind{Matrix, Matrix, Matrix} }

func (SoftmaxGradOp) Shape(in []tensor.Shape) (tensor.Shape, error) { return SameShape(in) }

func (SoftmaxGradOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	if IsFloat32(out) {
		softmaxSlopes(Values[float32](out), Values[float32](in[0]), Values[float32](in[1]), columns(out))
	} else {
		softmaxSlopes(Values[float64](out), Values[float64](in[0]), Values[float64](in[1]), columns(out))
	}
}

func softmaxSlopes[F Float](out, y, g []F, c int) {
	rowwise(len(y)/c, func(lo, hi int) {
		for at := lo * c; at < hi*c; at += c {
			row, slopes, dst := y[at:at+c], g[at:at+c], out[at:at+c]
			mean := centredProduct(row, 0, slopes)
			for j, v := range row {
				dst[j] = v * (slopes[j] - mean)
			}
		}
	})
}

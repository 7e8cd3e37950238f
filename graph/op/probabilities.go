package op

import (
	"math"

	"calibra/graph/simd"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Softmax is exp x_j / Σ_l exp x_l along each row of X (B×C), from the row's
// maximum, so that no finite input overflows.
func Softmax() Op { return Op{softmax{}} }

type softmax struct{}

func (softmax) signature() []kind { return []kind{matrix, matrix} }

func (softmax) shape(in []tensor.Shape) (tensor.Shape, error) { return same(in) }

func (softmax) run(out gorgonia.Value, in []gorgonia.Value) {
	if isFloat32(out) {
		softmaxRows(values[float32](out), values[float32](in[0]), columns(out), simd.Exp)
	} else {
		softmaxRows(values[float64](out), values[float64](in[0]), columns(out), func(dst, x []float64) {
			for i, v := range x {
				dst[i] = math.Exp(v)
			}
		})
	}
}

func softmaxRows[F float](out, x []F, c int, exp func(dst, x []F)) {
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

func (softmax) wrt() []bool { return []bool{true} }

func (softmax) grad(_ gorgonia.Nodes, out, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c grads
	return gorgonia.Nodes{c.apply(Op{softmaxGrad{}}, out, g)}, c.err
}

// softmaxGrad is y_j (g_j − Σ_l g_l y_l), from y = Softmax(x) and g.
type softmaxGrad struct{}

func (softmaxGrad) signature() []kind { return []kind{matrix, matrix, matrix} }

func (softmaxGrad) shape(in []tensor.Shape) (tensor.Shape, error) { return same(in) }

func (softmaxGrad) run(out gorgonia.Value, in []gorgonia.Value) {
	if isFloat32(out) {
		softmaxSlopes(values[float32](out), values[float32](in[0]), values[float32](in[1]), columns(out))
	} else {
		softmaxSlopes(values[float64](out), values[float64](in[0]), values[float64](in[1]), columns(out))
	}
}

func softmaxSlopes[F float](out, y, g []F, c int) {
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

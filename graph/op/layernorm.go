package op

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// LayerNorm normalizes each row of X (B×M) by its own moments (Ba et al. 2016):
// y_j = γ_j x̂_j + β_j with x̂ = (x − mean x)/√(var x + ε), γ and β of M.
func LayerNorm(eps float64) Op { return Op{LayerNormOp{eps}} }

// LayerNormOp is the op of [LayerNorm].
type LayerNormOp struct{ Eps float64 }

func (LayerNormOp) Signature() []Kind { return []Kind{Matrix, Vector, Vector, Matrix} }

func (LayerNormOp) Shape(in []tensor.Shape) (tensor.Shape, error) {
	if in[0][1] != in[1][0] || in[0][1] != in[2][0] {
		return nil, errShapes
	}
	return in[0].Clone(), nil
}

func (o LayerNormOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	if IsFloat32(out) {
		layerNormalize(Values[float32](out), Values[float32](in[0]), Values[float32](in[1]), Values[float32](in[2]), o.Eps)
	} else {
		layerNormalize(Values[float64](out), Values[float64](in[0]), Values[float64](in[1]), Values[float64](in[2]), o.Eps)
	}
}

func layerNormalize[F Float](y, x, gamma, beta []F, eps float64) {
	m := len(gamma)
	rowwise(len(x)/m, func(lo, hi int) {
		for at := lo * m; at < hi*m; at += m {
			row, dst := x[at:at+m], y[at:at+m]
			mean, root := rowMoments(row, eps)
			for j, v := range row {
				dst[j] = gamma[j]*(v-mean)*root + beta[j]
			}
		}
	})
}

// rowMoments is the mean of a row and 1/√(var + ε).
func rowMoments[F Float](row []F, eps float64) (mean, root F) {
	n := F(len(row))
	mean = sumOf(row) / n
	return mean, inverseRoot(sumOfSquares(row, mean)/n, eps)
}

func (LayerNormOp) WRT() []bool { return []bool{true, true, true} }

func (o LayerNormOp) Grad(in gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c Grads
	dx := c.Apply(Op{LayerNormInputOp(o)}, in[0], in[1], g)
	dgamma := c.Apply(Op{LayerNormScaleOp(o)}, in[0], g)
	return gorgonia.Nodes{dx, dgamma, c.Apply(SumRows(), g)}, c.Err
}

// LayerNormInputOp is ∂L/∂x = (h − mean h − x̂ mean(h x̂))/√(var + ε) with h = γ g, from
// x, γ and g.
type LayerNormInputOp struct{ Eps float64 }

func (LayerNormInputOp) Signature() []Kind { return []Kind{Matrix, Vector, Matrix, Matrix} }

func (LayerNormInputOp) Shape(in []tensor.Shape) (tensor.Shape, error) { return in[0].Clone(), nil }

func (o LayerNormInputOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	if IsFloat32(out) {
		layerNormInputs(Values[float32](out), Values[float32](in[0]), Values[float32](in[1]), Values[float32](in[2]), o.Eps)
	} else {
		layerNormInputs(Values[float64](out), Values[float64](in[0]), Values[float64](in[1]), Values[float64](in[2]), o.Eps)
	}
}

func layerNormInputs[F Float](dx, x, gamma, g []F, eps float64) {
	m := len(gamma)
	rowwise(len(x)/m, func(lo, hi int) {
		for at := lo * m; at < hi*m; at += m {
			row, slopes, dst := x[at:at+m], g[at:at+m], dx[at:at+m]
			mean, root := rowMoments(row, eps)
			var sum, product F
			for j, v := range row {
				h := gamma[j] * slopes[j]
				sum += h
				product += h * (v - mean)
			}
			sum, product = sum/F(m), product/F(m)*root*root
			for j, v := range row {
				dst[j] = root * (gamma[j]*slopes[j] - sum - (v-mean)*product)
			}
		}
	})
}

// LayerNormScaleOp is Σ_b g x̂: ∂L/∂γ, from x and g.
type LayerNormScaleOp struct{ Eps float64 }

func (LayerNormScaleOp) Signature() []Kind { return []Kind{Matrix, Matrix, Vector} }

func (LayerNormScaleOp) Shape(in []tensor.Shape) (tensor.Shape, error) {
	return tensor.Shape{in[0][1]}, nil
}

func (o LayerNormScaleOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	if IsFloat32(out) {
		layerNormScales(Values[float32](out), Values[float32](in[0]), Values[float32](in[1]), o.Eps)
	} else {
		layerNormScales(Values[float64](out), Values[float64](in[0]), Values[float64](in[1]), o.Eps)
	}
}

func layerNormScales[F Float](dgamma, x, g []F, eps float64) {
	clear(dgamma)
	m := len(dgamma)
	for at := 0; at < len(x); at += m {
		row, slopes := x[at:at+m], g[at:at+m]
		mean, root := rowMoments(row, eps)
		for j, v := range row {
			dgamma[j] += slopes[j] * (v - mean) * root
		}
	}
}

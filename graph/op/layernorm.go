package op

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// LayerNorm normalizes each row of X (B×M) by its own moments (Ba et al. 2016):
// y_j = γ_j x̂_j + β_j with x̂ = (x − mean x)/√(var x + ε), γ and β of M.
func LayerNorm(eps float64) Op { return Op{layerNorm{eps}} }

type layerNorm struct{ Eps float64 }

func (layerNorm) signature() []kind { return []kind{matrix, vector, vector, matrix} }

func (layerNorm) shape(in []tensor.Shape) (tensor.Shape, error) {
	if in[0][1] != in[1][0] || in[0][1] != in[2][0] {
		return nil, errShapes
	}
	return in[0].Clone(), nil
}

func (o layerNorm) run(out gorgonia.Value, in []gorgonia.Value) {
	if isFloat32(out) {
		layerNormalize(values[float32](out), values[float32](in[0]), values[float32](in[1]), values[float32](in[2]), o.Eps)
	} else {
		layerNormalize(values[float64](out), values[float64](in[0]), values[float64](in[1]), values[float64](in[2]), o.Eps)
	}
}

func layerNormalize[F float](y, x, gamma, beta []F, eps float64) {
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
func rowMoments[F float](row []F, eps float64) (mean, root F) {
	n := F(len(row))
	mean = sumOf(row) / n
	return mean, inverseRoot(sumOfSquares(row, mean)/n, eps)
}

func (layerNorm) wrt() []bool { return []bool{true, true, true} }

func (o layerNorm) grad(in gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c grads
	dx := c.apply(Op{layerNormInput(o)}, in[0], in[1], g)
	dgamma := c.apply(Op{layerNormScale(o)}, in[0], g)
	return gorgonia.Nodes{dx, dgamma, c.apply(SumRows(), g)}, c.err
}

// layerNormInput is ∂L/∂x = (h − mean h − x̂ mean(h x̂))/√(var + ε) with h = γ g, from
// x, γ and g.
type layerNormInput struct{ Eps float64 }

func (layerNormInput) signature() []kind { return []kind{matrix, vector, matrix, matrix} }

func (layerNormInput) shape(in []tensor.Shape) (tensor.Shape, error) { return in[0].Clone(), nil }

func (o layerNormInput) run(out gorgonia.Value, in []gorgonia.Value) {
	if isFloat32(out) {
		layerNormInputs(values[float32](out), values[float32](in[0]), values[float32](in[1]), values[float32](in[2]), o.Eps)
	} else {
		layerNormInputs(values[float64](out), values[float64](in[0]), values[float64](in[1]), values[float64](in[2]), o.Eps)
	}
}

func layerNormInputs[F float](dx, x, gamma, g []F, eps float64) {
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

// layerNormScale is Σ_b g x̂: ∂L/∂γ, from x and g.
type layerNormScale struct{ Eps float64 }

func (layerNormScale) signature() []kind { return []kind{matrix, matrix, vector} }

func (layerNormScale) shape(in []tensor.Shape) (tensor.Shape, error) {
	return tensor.Shape{in[0][1]}, nil
}

func (o layerNormScale) run(out gorgonia.Value, in []gorgonia.Value) {
	if isFloat32(out) {
		layerNormScales(values[float32](out), values[float32](in[0]), values[float32](in[1]), o.Eps)
	} else {
		layerNormScales(values[float64](out), values[float64](in[0]), values[float64](in[1]), o.Eps)
	}
}

func layerNormScales[F float](dgamma, x, g []F, eps float64) {
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

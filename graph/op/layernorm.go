package op

// LayerNorm normalizes each row of X (B×M) by its own moments (Ba et al. 2016):
// y_j = γ_j x̂_j + β_j with x̂ = (x − mean x)/√(var x + ε), γ and β of M.
func LayerNorm(eps float64) Op { return Op{LayerNormOp{eps}} }

// LayerNormOp is the op of [LayerNorm].
type LayerNormOp struct{ Eps float64 }

func (LayerNormOp) Form() string                { return "B M, M, M -> B M" }
func (o LayerNormOp) Run(out Value, in []Value) { Dispatch(o, out, in, layerNorm, layerNorm) }

func layerNorm[F Float](o LayerNormOp, v Args[F]) {
	y, x, gamma, beta, m := v.Out(), v.In(0), v.In(1), v.In(2), v.Columns(0)
	inRows(len(x)/m, rowBlock, func(i int) {
		row, dst := x[i*m:(i+1)*m], y[i*m:(i+1)*m]
		mean, root := rowMoments(row, o.Eps)
		for j, v := range row {
			dst[j] = gamma[j]*(v-mean)*root + beta[j]
		}
	})
}

// rowMoments is the mean of a row and 1/√(var + ε).
func rowMoments[F Float](row []F, eps float64) (mean, root F) {
	n := F(len(row))
	mean = sumOf(row) / n
	return mean, inverseRoot(sumOfSquares(row, mean)/n, eps)
}

func (o LayerNormOp) Grad(in Nodes, _, g *Node) (Nodes, error) {
	return Nodes{Op{LayerNormInputOp(o)}.Of(in[0], in[1], g), Op{LayerNormScaleOp(o)}.Of(in[0], g), SumRows().Of(g)}, nil
}

// LayerNormInputOp is ∂L/∂x = (h − mean h − x̂ mean(h x̂))/√(var + ε) with h = γ g, from
// x, γ and g.
type LayerNormInputOp struct{ Eps float64 }

func (LayerNormInputOp) Form() string { return "B M, M, B M -> B M" }
func (o LayerNormInputOp) Run(out Value, in []Value) {
	Dispatch(o, out, in, layerNormInputs, layerNormInputs)
}

func layerNormInputs[F Float](o LayerNormInputOp, v Args[F]) {
	dx, x, gamma, g, m := v.Out(), v.In(0), v.In(1), v.In(2), v.Columns(0)
	inRows(len(x)/m, rowBlock, func(i int) {
		row, gradients, dst := x[i*m:(i+1)*m], g[i*m:(i+1)*m], dx[i*m:(i+1)*m]
		mean, root := rowMoments(row, o.Eps)
		var sum, product F
		for j, v := range row {
			h := gamma[j] * gradients[j]
			sum += h
			product += h * (v - mean)
		}
		sum, product = sum/F(m), product/F(m)*root*root
		for j, v := range row {
			dst[j] = root * (gamma[j]*gradients[j] - sum - (v-mean)*product)
		}
	})
}

// LayerNormScaleOp is Σ_b g x̂: ∂L/∂γ, from x and g.
type LayerNormScaleOp struct{ Eps float64 }

func (LayerNormScaleOp) Form() string { return "B M, B M -> M" }
func (o LayerNormScaleOp) Run(out Value, in []Value) {
	Dispatch(o, out, in, layerNormScales, layerNormScales)
}

func layerNormScales[F Float](o LayerNormScaleOp, v Args[F]) {
	dgamma, x, g, m := v.Out(), v.In(0), v.In(1), v.Columns(0)
	clear(dgamma)
	for at := 0; at < len(x); at += m {
		row, gradients := x[at:at+m], g[at:at+m]
		mean, root := rowMoments(row, o.Eps)
		for j, v := range row {
			dgamma[j] += gradients[j] * (v - mean) * root
		}
	}
}

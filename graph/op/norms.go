package op

import (
	"math"
	"strings"

	"calibra/graph/work"
)

// Batch normalization (Ioffe and Szegedy 2015) of X, B×C or N×C×H×W, channel by
// channel over rows and places:
//
//	μ = mean x,  v = mean (x − μ)²           ChannelMean, ChannelVariance
//	y = γ (x − μ)/√(v + ε) + β               BatchNorm
//
// The moments are inputs of BatchNorm, for a step's own while it trains and for
// moving averages at inference; a graph may hold both. Gorgonia's own keeps its
// averages inside the op (upstream issues 368 and 555).

// ChannelMean is μ (C) of X with dims dimensions.
func ChannelMean(dims int) Op { return Op{ChannelMeanOp{Kind{Dims: dims}}} }

// ChannelVariance is v (C), divided by the number of values, from X and μ.
func ChannelVariance(dims int) Op { return Op{ChannelVarianceOp{Kind{Dims: dims}}} }

// BatchNorm computes y from X, μ, v, γ and β. Its derivative takes μ and v for the moments of X,
// which depend on X: it is right only for [ChannelMean] and [ChannelVariance] of the same X.
func BatchNorm(dims int, eps float64) Op { return Op{BatchNormOp{Kind{Dims: dims}, eps}} }

// channelForm is a form in which X stands for the axes of channels.
func channelForm(of Kind, form string) string { return strings.ReplaceAll(form, "X", axesOf(of)) }

// ChannelMeanOp is the op of [ChannelMean].
type ChannelMeanOp struct{ Of Kind }

func (o ChannelMeanOp) Form() string              { return channelForm(o.Of, "X -> C") }
func (o ChannelMeanOp) Run(out Value, in []Value) { Dispatch(o, out, in, channelMeans, channelMeans) }

func channelMeans[F Float](_ ChannelMeanOp, v Args[F]) {
	mean, x, p := v.Out(), v.In(0), planesOf(v.Shape(0))
	p.each(func(c int) {
		sum := sumPlanes(p, func(i int) F { return sumOf(plane(p, x, i, c)) })
		mean[c] = F(sum / p.count())
	})
}

// sumPlanes is the sum of what each row or image has of a channel.
func sumPlanes[F Float](p planes, part func(i int) F) (sum float64) {
	for i := range p.n {
		sum += float64(part(i))
	}
	return sum
}

// ChannelVarianceOp is the op of [ChannelVariance].
type ChannelVarianceOp struct{ Of Kind }

func (o ChannelVarianceOp) Form() string { return channelForm(o.Of, "X, C -> C") }
func (o ChannelVarianceOp) Run(out Value, in []Value) {
	Dispatch(o, out, in, channelVariances, channelVariances)
}

func channelVariances[F Float](_ ChannelVarianceOp, v Args[F]) {
	variance, x, mean, p := v.Out(), v.In(0), v.In(1), planesOf(v.Shape(0))
	p.each(func(c int) {
		sum := sumPlanes(p, func(i int) F { return sumOfSquares(plane(p, x, i, c), mean[c]) })
		variance[c] = F(sum / p.count())
	})
}

// BatchNormOp is the op of [BatchNorm].
type BatchNormOp struct {
	Of  Kind
	Eps float64
}

func (o BatchNormOp) Form() string              { return channelForm(o.Of, "X, C, C, C, C -> X") }
func (o BatchNormOp) Run(out Value, in []Value) { Dispatch(o, out, in, batchNormalize, batchNormalize) }

func batchNormalize[F Float](o BatchNormOp, v Args[F]) {
	y, x, mean, variance, gamma, beta, p := v.Out(), v.In(0), v.In(1), v.In(2), v.In(3), v.In(4), planesOf(v.Shape(0))
	p.each(func(c int) {
		slope := gamma[c] * inverseRoot(variance[c], o.Eps)
		offset := beta[c] - slope*mean[c]
		for i := range p.n {
			dst := plane(p, y, i, c)
			for j, v := range plane(p, x, i, c) {
				dst[j] = slope*v + offset
			}
		}
	})
}

func inverseRoot[F Float](v F, eps float64) F { return F(1 / math.Sqrt(float64(v)+eps)) }

func (BatchNormOp) WRT() []bool { return []bool{true, false, false, true, true} }

func (o BatchNormOp) Grad(in Nodes, _, g *Node) Nodes {
	dbeta := Op{ChannelSumOp{o.Of}}.Of(g)
	dgamma := Op{BatchNormScaleOp(o)}.Of(in[0], in[1], in[2], g)
	dx := Op{BatchNormInputOp(o)}.Of(in[0], in[1], in[2], in[3], g, dgamma, dbeta)
	return Nodes{dx, nil, nil, dgamma, dbeta}
}

// ChannelSumOp is Σ g of each channel: ∂L/∂β.
type ChannelSumOp struct{ Of Kind }

func (o ChannelSumOp) Form() string              { return channelForm(o.Of, "X -> C") }
func (o ChannelSumOp) Run(out Value, in []Value) { Dispatch(o, out, in, channelSums, channelSums) }

func channelSums[F Float](_ ChannelSumOp, v Args[F]) {
	sums, g, p := v.Out(), v.In(0), planesOf(v.Shape(0))
	p.each(func(c int) { sums[c] = F(sumPlanes(p, func(i int) F { return sumOf(plane(p, g, i, c)) })) })
}

// BatchNormScaleOp is Σ g x̂ of each channel, x̂ = (x − μ)/√(v + ε): ∂L/∂γ.
type BatchNormScaleOp struct {
	Of  Kind
	Eps float64
}

func (o BatchNormScaleOp) Form() string { return channelForm(o.Of, "X, C, C, X -> C") }
func (o BatchNormScaleOp) Run(out Value, in []Value) {
	Dispatch(o, out, in, batchNormScales, batchNormScales)
}

func batchNormScales[F Float](o BatchNormScaleOp, v Args[F]) {
	out, x, mean, variance, g, p := v.Out(), v.In(0), v.In(1), v.In(2), v.In(3), planesOf(v.Shape(0))
	p.each(func(c int) {
		sum := sumPlanes(p, func(i int) F { return centredProduct(plane(p, x, i, c), mean[c], plane(p, g, i, c)) })
		out[c] = F(sum) * inverseRoot(variance[c], o.Eps)
	})
}

// BatchNormInputOp is ∂L/∂x = γ/√(v + ε) (g − mean g − x̂ mean(g x̂)), from x, μ, v, γ,
// g, Σ g x̂ and Σ g.
type BatchNormInputOp struct {
	Of  Kind
	Eps float64
}

func (o BatchNormInputOp) Form() string { return channelForm(o.Of, "X, C, C, C, X, C, C -> X") }
func (o BatchNormInputOp) Run(out Value, in []Value) {
	Dispatch(o, out, in, batchNormInputs, batchNormInputs)
}

func batchNormInputs[F Float](o BatchNormInputOp, v Args[F]) {
	dx, x, mean, variance, gamma, g := v.Out(), v.In(0), v.In(1), v.In(2), v.In(3), v.In(4)
	sumGX, sumG, p := v.In(5), v.In(6), planesOf(v.Shape(0))
	p.each(func(c int) {
		root, count := inverseRoot(variance[c], o.Eps), F(p.count())
		a := gamma[c] * root
		b := -a * root * sumGX[c] / count
		offset := -a*sumG[c]/count - b*mean[c]
		for i := range p.n {
			dst, gradients := plane(p, dx, i, c), plane(p, g, i, c)
			for j, v := range plane(p, x, i, c) {
				dst[j] = a*gradients[j] + b*v + offset
			}
		}
	})
}

// planes is how a B×C matrix or N×C×H×W images divide into channels.
type planes struct{ n, channels, area int }

func planesOf(s Shape) planes {
	p := planes{s[0], s[1], 1}
	for _, d := range s[2:] {
		p.area *= d
	}
	return p
}

// count is the number of values of a channel.
func (p planes) count() float64 { return float64(p.n * p.area) }

// each calls f for every channel, side by side.
func (p planes) each(f func(c int)) { work.Each(p.channels, 1, f) }

// plane is the values of x in channel c of row or image i.
func plane[F Float](p planes, x []F, i, c int) []F {
	at := (i*p.channels + c) * p.area
	return x[at : at+p.area]
}

// sumOf, sumOfSquares and centredProduct add in four chains, in an order that the
// length alone decides.

// sumOf is Σ x.
func sumOf[F Float](x []F) F {
	var s [4]F
	for len(x) >= 4 {
		s[0] += x[0]
		s[1] += x[1]
		s[2] += x[2]
		s[3] += x[3]
		x = x[4:]
	}
	for i, v := range x {
		s[i] += v
	}
	return (s[0] + s[1]) + (s[2] + s[3])
}

// sumOfSquares is Σ (x − μ)².
func sumOfSquares[F Float](x []F, mu F) F {
	var s [4]F
	for len(x) >= 4 {
		a, b, c, d := x[0]-mu, x[1]-mu, x[2]-mu, x[3]-mu
		s[0] += a * a
		s[1] += b * b
		s[2] += c * c
		s[3] += d * d
		x = x[4:]
	}
	for i, v := range x {
		s[i] += (v - mu) * (v - mu)
	}
	return (s[0] + s[1]) + (s[2] + s[3])
}

// centredProduct is Σ (x − μ) g.
func centredProduct[F Float](x []F, mu F, g []F) F {
	var s [4]F
	for len(x) >= 4 && len(g) >= 4 {
		s[0] += (x[0] - mu) * g[0]
		s[1] += (x[1] - mu) * g[1]
		s[2] += (x[2] - mu) * g[2]
		s[3] += (x[3] - mu) * g[3]
		x, g = x[4:], g[4:]
	}
	for i, v := range x {
		s[i] += (v - mu) * g[i]
	}
	return (s[0] + s[1]) + (s[2] + s[3])
}

// LayerNorm normalizes each row of X (B×M) by its own moments (Ba et al. 2016):
// y_j = γ_j x̂_j + β_j with x̂ = (x − mean x)/√(var x + ε), γ and β of M.
func LayerNorm(eps float64) Op { return Op{LayerNormOp{eps}} }

// LayerNormOp is the op of [LayerNorm].
type LayerNormOp struct{ Eps float64 }

func (LayerNormOp) Form() string                { return "B M, M, M -> B M" }
func (o LayerNormOp) Run(out Value, in []Value) { Dispatch(o, out, in, layerNorm, layerNorm) }

func layerNorm[F Float](o LayerNormOp, v Args[F]) {
	y, x, gamma, beta, m := v.Out(), v.In(0), v.In(1), v.In(2), v.Columns(0)
	work.Each(len(x)/m, rowBlock, func(i int) {
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

func (o LayerNormOp) Grad(in Nodes, _, g *Node) Nodes {
	return Nodes{Op{LayerNormInputOp(o)}.Of(in[0], in[1], g), Op{LayerNormScaleOp(o)}.Of(in[0], g), SumRows().Of(g)}
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
	work.Each(len(x)/m, rowBlock, func(i int) {
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

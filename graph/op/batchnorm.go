package op

import (
	"math"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
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

// BatchNorm is y from X, μ, v, γ and β. Its derivative takes μ and v for those of X
// itself, through which they depend on X: it is right only for [ChannelMean] and
// [ChannelVariance] of the same X.
func BatchNorm(dims int, eps float64) Op { return Op{BatchNormOp{Kind{Dims: dims}, eps}} }

// ChannelMeanOp is the op of [ChannelMean].
type ChannelMeanOp struct{ Of Kind }

func (o ChannelMeanOp) Signature() []Kind { return []Kind{o.Of, Vector} }

func (ChannelMeanOp) Shape(in []tensor.Shape) (tensor.Shape, error) {
	return tensor.Shape{in[0][1]}, nil
}

func (ChannelMeanOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	if IsFloat32(out) {
		channelMeans(Values[float32](out), Values[float32](in[0]), planesOf(in[0]))
	} else {
		channelMeans(Values[float64](out), Values[float64](in[0]), planesOf(in[0]))
	}
}

func channelMeans[F Float](mean, x []F, p planes) {
	p.each(func(c int) {
		var sum float64
		for i := range p.n {
			sum += float64(sumOf(plane(p, x, i, c)))
		}
		mean[c] = F(sum / p.count())
	})
}

// ChannelVarianceOp is the op of [ChannelVariance].
type ChannelVarianceOp struct{ Of Kind }

func (o ChannelVarianceOp) Signature() []Kind { return []Kind{o.Of, Vector, Vector} }

func (ChannelVarianceOp) Shape(in []tensor.Shape) (tensor.Shape, error) {
	if in[0][1] != in[1][0] {
		return nil, errShapes
	}
	return in[1].Clone(), nil
}

func (ChannelVarianceOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	if IsFloat32(out) {
		channelVariances(Values[float32](out), Values[float32](in[0]), Values[float32](in[1]), planesOf(in[0]))
	} else {
		channelVariances(Values[float64](out), Values[float64](in[0]), Values[float64](in[1]), planesOf(in[0]))
	}
}

func channelVariances[F Float](variance, x, mean []F, p planes) {
	p.each(func(c int) {
		var sum float64
		mu := mean[c]
		for i := range p.n {
			sum += float64(sumOfSquares(plane(p, x, i, c), mu))
		}
		variance[c] = F(sum / p.count())
	})
}

// BatchNormOp is the op of [BatchNorm].
type BatchNormOp struct {
	Of  Kind
	Eps float64
}

func (o BatchNormOp) Signature() []Kind { return []Kind{o.Of, Vector, Vector, Vector, Vector, o.Of} }

func (BatchNormOp) Shape(in []tensor.Shape) (tensor.Shape, error) {
	for _, s := range in[1:] {
		if s[0] != in[0][1] {
			return nil, errShapes
		}
	}
	return in[0].Clone(), nil
}

func (o BatchNormOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	if IsFloat32(out) {
		batchNormalize(Values[float32](out), Values[float32](in[0]), Values[float32](in[1]), Values[float32](in[2]), Values[float32](in[3]), Values[float32](in[4]), planesOf(in[0]), o.Eps)
	} else {
		batchNormalize(Values[float64](out), Values[float64](in[0]), Values[float64](in[1]), Values[float64](in[2]), Values[float64](in[3]), Values[float64](in[4]), planesOf(in[0]), o.Eps)
	}
}

func batchNormalize[F Float](y, x, mean, variance, gamma, beta []F, p planes, eps float64) {
	p.each(func(c int) {
		slope := gamma[c] * inverseRoot(variance[c], eps)
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

func (o BatchNormOp) Grad(in gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c Grads
	dbeta := c.Apply(Op{ChannelSumOp{o.Of}}, g)
	dgamma := c.Apply(Op{BatchNormScaleOp(o)}, in[0], in[1], in[2], g)
	dx := c.Apply(Op{BatchNormInputOp(o)}, in[0], in[1], in[2], in[3], g, dgamma, dbeta)
	return gorgonia.Nodes{dx, nil, nil, dgamma, dbeta}, c.Err
}

// ChannelSumOp is Σ g of each channel: ∂L/∂β.
type ChannelSumOp struct{ Of Kind }

func (o ChannelSumOp) Signature() []Kind { return []Kind{o.Of, Vector} }

func (ChannelSumOp) Shape(in []tensor.Shape) (tensor.Shape, error) {
	return tensor.Shape{in[0][1]}, nil
}

func (ChannelSumOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	if IsFloat32(out) {
		channelSums(Values[float32](out), Values[float32](in[0]), planesOf(in[0]))
	} else {
		channelSums(Values[float64](out), Values[float64](in[0]), planesOf(in[0]))
	}
}

func channelSums[F Float](out, g []F, p planes) {
	p.each(func(c int) {
		var sum float64
		for i := range p.n {
			sum += float64(sumOf(plane(p, g, i, c)))
		}
		out[c] = F(sum)
	})
}

// BatchNormScaleOp is Σ g x̂ of each channel, x̂ = (x − μ)/√(v + ε): ∂L/∂γ.
type BatchNormScaleOp struct {
	Of  Kind
	Eps float64
}

func (o BatchNormScaleOp) Signature() []Kind { return []Kind{o.Of, Vector, Vector, o.Of, Vector} }

func (BatchNormScaleOp) Shape(in []tensor.Shape) (tensor.Shape, error) { return in[1].Clone(), nil }

func (o BatchNormScaleOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	if IsFloat32(out) {
		batchNormScales(Values[float32](out), Values[float32](in[0]), Values[float32](in[1]), Values[float32](in[2]), Values[float32](in[3]), planesOf(in[0]), o.Eps)
	} else {
		batchNormScales(Values[float64](out), Values[float64](in[0]), Values[float64](in[1]), Values[float64](in[2]), Values[float64](in[3]), planesOf(in[0]), o.Eps)
	}
}

func batchNormScales[F Float](out, x, mean, variance, g []F, p planes, eps float64) {
	p.each(func(c int) {
		var sum float64
		mu := mean[c]
		for i := range p.n {
			sum += float64(centredProduct(plane(p, x, i, c), mu, plane(p, g, i, c)))
		}
		out[c] = F(sum) * inverseRoot(variance[c], eps)
	})
}

// BatchNormInputOp is ∂L/∂x = γ/√(v + ε) (g − mean g − x̂ mean(g x̂)), from x, μ, v, γ,
// g, Σ g x̂ and Σ g.
type BatchNormInputOp struct {
	Of  Kind
	Eps float64
}

func (o BatchNormInputOp) Signature() []Kind {
	return []Kind{o.Of, Vector, Vector, Vector, o.Of, Vector, Vector, o.Of}
}

func (BatchNormInputOp) Shape(in []tensor.Shape) (tensor.Shape, error) { return in[0].Clone(), nil }

func (o BatchNormInputOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	if IsFloat32(out) {
		batchNormInputs(Values[float32](out), Values[float32](in[0]), Values[float32](in[1]), Values[float32](in[2]), Values[float32](in[3]), Values[float32](in[4]), Values[float32](in[5]), Values[float32](in[6]), planesOf(in[0]), o.Eps)
	} else {
		batchNormInputs(Values[float64](out), Values[float64](in[0]), Values[float64](in[1]), Values[float64](in[2]), Values[float64](in[3]), Values[float64](in[4]), Values[float64](in[5]), Values[float64](in[6]), planesOf(in[0]), o.Eps)
	}
}

func batchNormInputs[F Float](dx, x, mean, variance, gamma, g, sumGX, sumG []F, p planes, eps float64) {
	p.each(func(c int) {
		root, count := inverseRoot(variance[c], eps), F(p.count())
		a := gamma[c] * root
		b := -a * root * sumGX[c] / count
		offset := -a*sumG[c]/count - b*mean[c]
		for i := range p.n {
			dst, slopes := plane(p, dx, i, c), plane(p, g, i, c)
			for j, v := range plane(p, x, i, c) {
				dst[j] = a*slopes[j] + b*v + offset
			}
		}
	})
}

// planes is how a B×C matrix or N×C×H×W images divide into channels.
type planes struct{ n, channels, area int }

func planesOf(v gorgonia.Value) planes {
	s := v.Shape()
	p := planes{s[0], s[1], 1}
	for _, d := range s[2:] {
		p.area *= d
	}
	return p
}

// count is the number of values of a channel.
func (p planes) count() float64 { return float64(p.n * p.area) }

// each calls f for every channel, side by side.
func (p planes) each(f func(c int)) { parallel(p.channels, f) }

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

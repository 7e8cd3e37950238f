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
func ChannelMean(dims int) Op { return Op{channelMean{kind{dims: dims}}} }

// ChannelVariance is v (C), divided by the number of values, from X and μ.
func ChannelVariance(dims int) Op { return Op{channelVariance{kind{dims: dims}}} }

// BatchNorm is y from X, μ, v, γ and β. Its derivative takes μ and v for those of X
// itself, through which they depend on X: it is right only for [ChannelMean] and
// [ChannelVariance] of the same X.
func BatchNorm(dims int, eps float64) Op { return Op{batchNorm{kind{dims: dims}, eps}} }

type channelMean struct{ of kind }

func (o channelMean) signature() []kind { return []kind{o.of, vector} }

func (channelMean) shape(in []tensor.Shape) (tensor.Shape, error) {
	return tensor.Shape{in[0][1]}, nil
}

func (channelMean) run(out gorgonia.Value, in []gorgonia.Value) {
	if isFloat32(out) {
		channelMeans(values[float32](out), values[float32](in[0]), planesOf(in[0]))
	} else {
		channelMeans(values[float64](out), values[float64](in[0]), planesOf(in[0]))
	}
}

func channelMeans[F float](mean, x []F, p planes) {
	p.each(func(c int) {
		var sum float64
		for i := range p.n {
			sum += float64(sumOf(plane(p, x, i, c)))
		}
		mean[c] = F(sum / p.count())
	})
}

type channelVariance struct{ of kind }

func (o channelVariance) signature() []kind { return []kind{o.of, vector, vector} }

func (channelVariance) shape(in []tensor.Shape) (tensor.Shape, error) {
	if in[0][1] != in[1][0] {
		return nil, errShapes
	}
	return in[1].Clone(), nil
}

func (channelVariance) run(out gorgonia.Value, in []gorgonia.Value) {
	if isFloat32(out) {
		channelVariances(values[float32](out), values[float32](in[0]), values[float32](in[1]), planesOf(in[0]))
	} else {
		channelVariances(values[float64](out), values[float64](in[0]), values[float64](in[1]), planesOf(in[0]))
	}
}

func channelVariances[F float](variance, x, mean []F, p planes) {
	p.each(func(c int) {
		var sum float64
		mu := mean[c]
		for i := range p.n {
			sum += float64(sumOfSquares(plane(p, x, i, c), mu))
		}
		variance[c] = F(sum / p.count())
	})
}

type batchNorm struct {
	of  kind
	Eps float64
}

func (o batchNorm) signature() []kind { return []kind{o.of, vector, vector, vector, vector, o.of} }

func (batchNorm) shape(in []tensor.Shape) (tensor.Shape, error) {
	for _, s := range in[1:] {
		if s[0] != in[0][1] {
			return nil, errShapes
		}
	}
	return in[0].Clone(), nil
}

func (o batchNorm) run(out gorgonia.Value, in []gorgonia.Value) {
	if isFloat32(out) {
		batchNormalize(values[float32](out), values[float32](in[0]), values[float32](in[1]), values[float32](in[2]), values[float32](in[3]), values[float32](in[4]), planesOf(in[0]), o.Eps)
	} else {
		batchNormalize(values[float64](out), values[float64](in[0]), values[float64](in[1]), values[float64](in[2]), values[float64](in[3]), values[float64](in[4]), planesOf(in[0]), o.Eps)
	}
}

func batchNormalize[F float](y, x, mean, variance, gamma, beta []F, p planes, eps float64) {
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

func inverseRoot[F float](v F, eps float64) F { return F(1 / math.Sqrt(float64(v)+eps)) }

func (batchNorm) wrt() []bool { return []bool{true, false, false, true, true} }

func (o batchNorm) grad(in gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c grads
	dbeta := c.apply(Op{channelSum{o.of}}, g)
	dgamma := c.apply(Op{batchNormScale(o)}, in[0], in[1], in[2], g)
	dx := c.apply(Op{batchNormInput(o)}, in[0], in[1], in[2], in[3], g, dgamma, dbeta)
	return gorgonia.Nodes{dx, nil, nil, dgamma, dbeta}, c.err
}

// channelSum is Σ g of each channel: ∂L/∂β.
type channelSum struct{ of kind }

func (o channelSum) signature() []kind { return []kind{o.of, vector} }

func (channelSum) shape(in []tensor.Shape) (tensor.Shape, error) {
	return tensor.Shape{in[0][1]}, nil
}

func (channelSum) run(out gorgonia.Value, in []gorgonia.Value) {
	if isFloat32(out) {
		channelSums(values[float32](out), values[float32](in[0]), planesOf(in[0]))
	} else {
		channelSums(values[float64](out), values[float64](in[0]), planesOf(in[0]))
	}
}

func channelSums[F float](out, g []F, p planes) {
	p.each(func(c int) {
		var sum float64
		for i := range p.n {
			sum += float64(sumOf(plane(p, g, i, c)))
		}
		out[c] = F(sum)
	})
}

// batchNormScale is Σ g x̂ of each channel, x̂ = (x − μ)/√(v + ε): ∂L/∂γ.
type batchNormScale struct {
	of  kind
	Eps float64
}

func (o batchNormScale) signature() []kind { return []kind{o.of, vector, vector, o.of, vector} }

func (batchNormScale) shape(in []tensor.Shape) (tensor.Shape, error) { return in[1].Clone(), nil }

func (o batchNormScale) run(out gorgonia.Value, in []gorgonia.Value) {
	if isFloat32(out) {
		batchNormScales(values[float32](out), values[float32](in[0]), values[float32](in[1]), values[float32](in[2]), values[float32](in[3]), planesOf(in[0]), o.Eps)
	} else {
		batchNormScales(values[float64](out), values[float64](in[0]), values[float64](in[1]), values[float64](in[2]), values[float64](in[3]), planesOf(in[0]), o.Eps)
	}
}

func batchNormScales[F float](out, x, mean, variance, g []F, p planes, eps float64) {
	p.each(func(c int) {
		var sum float64
		mu := mean[c]
		for i := range p.n {
			sum += float64(centredProduct(plane(p, x, i, c), mu, plane(p, g, i, c)))
		}
		out[c] = F(sum) * inverseRoot(variance[c], eps)
	})
}

// batchNormInput is ∂L/∂x = γ/√(v + ε) (g − mean g − x̂ mean(g x̂)), from x, μ, v, γ,
// g, Σ g x̂ and Σ g.
type batchNormInput struct {
	of  kind
	Eps float64
}

func (o batchNormInput) signature() []kind {
	return []kind{o.of, vector, vector, vector, o.of, vector, vector, o.of}
}

func (batchNormInput) shape(in []tensor.Shape) (tensor.Shape, error) { return in[0].Clone(), nil }

func (o batchNormInput) run(out gorgonia.Value, in []gorgonia.Value) {
	if isFloat32(out) {
		batchNormInputs(values[float32](out), values[float32](in[0]), values[float32](in[1]), values[float32](in[2]), values[float32](in[3]), values[float32](in[4]), values[float32](in[5]), values[float32](in[6]), planesOf(in[0]), o.Eps)
	} else {
		batchNormInputs(values[float64](out), values[float64](in[0]), values[float64](in[1]), values[float64](in[2]), values[float64](in[3]), values[float64](in[4]), values[float64](in[5]), values[float64](in[6]), planesOf(in[0]), o.Eps)
	}
}

func batchNormInputs[F float](dx, x, mean, variance, gamma, g, sumGX, sumG []F, p planes, eps float64) {
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
func plane[F float](p planes, x []F, i, c int) []F {
	at := (i*p.channels + c) * p.area
	return x[at : at+p.area]
}

// sumOf, sumOfSquares and centredProduct add in four chains, in an order that the
// length alone decides.

// sumOf is Σ x.
func sumOf[F float](x []F) F {
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
func sumOfSquares[F float](x []F, mu F) F {
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
func centredProduct[F float](x []F, mu F, g []F) F {
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

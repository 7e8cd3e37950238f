package cuda

import (
	"math"

	"calibra/graph/op"

	"gorgonia.org/tensor"
)

// networkRows are those of networks. Images are N×C×H×W, kernels O×C×k×l.
var networkRows = []row{
	on(func(d *Device, o op.ConvOp, out operand, in []operand) {
		g := newConvolution(o, in[0].Shape, in[1].Shape)
		g.launch(d, "convolve", tiles(g.o, g.n*g.high*g.wide, 1), out, in)
	}),
	on(func(d *Device, o op.ConvInputOp, out operand, in []operand) {
		g := newConvolution(o.Of, out.Shape, in[1].Shape)
		g.launch(d, "convolve_input", tiles(g.c, g.n*g.h*g.w, 1), out, in)
	}),
	on(func(d *Device, o op.ConvKernelOp, out operand, in []operand) {
		g := newConvolution(o.Of, in[0].Shape, out.Shape)
		m, n := g.o, g.c*g.kh*g.kw
		cut, depth := parts(m, n, g.n*g.high*g.wide)
		if cut == 1 {
			g.launch(d, "convolve_kernels", tiles(m, n, cut), out, in, depth)
			return
		}
		pieces := d.Alloc(cut * m * n)
		g.launch(d, "convolve_kernels", tiles(m, n, cut), operand{Memory: pieces}, in, depth)
		d.launch("sum_parts", each(m*n), out, pieces, m*n, cut)
		d.Free(pieces)
	}),

	on(func(d *Device, _ op.ChannelMeanOp, out operand, in []operand) {
		d.channel(channelSum{of: 0, out: out, x: in[0], count: channelsOf(in[0]).values()})
	}),
	on(func(d *Device, _ op.ChannelVarianceOp, out operand, in []operand) {
		d.channel(channelSum{of: 1, out: out, x: in[0], mean: in[1], count: channelsOf(in[0]).values()})
	}),
	on(func(d *Device, _ op.ChannelSumOp, out operand, in []operand) {
		d.channel(channelSum{of: 0, out: out, x: in[0], count: 1})
	}),
	on(func(d *Device, o op.BatchNormScaleOp, out operand, in []operand) {
		d.channel(channelSum{of: 2, out: out, x: in[0], mean: in[1], variance: in[2], g: in[3], epsilon: float32(o.Eps), count: 1})
	}),
	on(func(d *Device, o op.BatchNormOp, out operand, in []operand) {
		c := channelsOf(out)
		d.launch("batch_norm", each(out.Size()), out, in[0], in[1], in[2], in[3], in[4], float32(o.Eps), c.channels, c.area, out.Size())
	}),
	on(func(d *Device, o op.BatchNormInputOp, out operand, in []operand) {
		c := channelsOf(out)
		d.launch("batch_norm_input", each(out.Size()), out, in[0], in[1], in[2], in[3], in[4], in[5], in[6], float32(o.Eps), c.values(), c.channels, c.area, out.Size())
	}),
	on(func(d *Device, _ op.PlaneMeanOp, out operand, in []operand) {
		area := in[0].Size() / out.Size()
		sums := d.Alloc(out.Size())
		d.launch("sum_columns", warps(out.Size()), sums, in[0], out.Size(), area)
		d.Map(Scaled, out.Memory, sums, out.Size(), 1/float32(area))
		d.Free(sums)
	}),
	on(func(d *Device, o op.LayerNormScaleOp, out operand, in []operand) {
		b, m := in[0].Shape[0], in[0].columns()
		moments := d.Alloc(2 * b)
		d.launch("layer_moments", warps(b), moments, in[0], float32(o.Eps), b, m)
		d.launch("layer_norm_scale", columns(m), out, in[0], in[1], moments, b, m)
		d.Free(moments)
	}),

	on(func(d *Device, o op.BlockMatMulOp, out operand, in []operand) {
		x, y := block(o, in[0].Shape), block(o, in[1].Shape)
		m, k := oriented(x, o.X)
		n := out.columns()
		d.products(product{of: layoutOf(o.X, o.Y), z: out.Memory, x: in[0].Memory, y: in[1].Memory, m: m, n: n, k: k, pairs: pairs{
			count: o.N, inner: 1,
			apartX: apart{row: x[1], outer: x[0] * x[1]}, apartY: apart{row: y[1], outer: y[0] * y[1]}, apartZ: apart{row: n, outer: m * n},
		}}, k)
	}),
	on(func(d *Device, o op.HeadScoresOp, out operand, in []operand) {
		h, s, t, wide := headed(o), in[0].Shape[0]/o.B, in[1].Shape[0]/o.B, in[0].columns()
		h.multiply(d, product{of: xyt, m: s, n: t, k: wide / o.Heads}, out, in, pairs{apartX: h.tokens(s, wide), apartY: h.tokens(t, wide), apartZ: h.scores(s, t)})
	}),
	on(func(d *Device, o op.HeadMixOp, out operand, in []operand) {
		h, s, t, wide := headed(o), out.Shape[0]/o.B, in[0].columns(), out.columns()
		h.multiply(d, product{of: xy, m: s, n: wide / o.Heads, k: t}, out, in, pairs{apartX: h.scores(s, t), apartY: h.tokens(t, wide), apartZ: h.tokens(s, wide)})
	}),
	on(func(d *Device, o op.HeadMixBackOp, out operand, in []operand) {
		h, s, t, wide := headed(o), in[1].Shape[0]/o.B, in[0].columns(), out.columns()
		h.multiply(d, product{of: xty, m: t, n: wide / o.Heads, k: s}, out, in, pairs{apartX: h.scores(s, t), apartY: h.tokens(s, wide), apartZ: h.tokens(t, wide)})
	}),

	on(func(d *Device, _ op.ReshapeOp, out operand, in []operand) { d.Copy(out.Memory, in[0].Memory) }),
	on(func(d *Device, o op.PickColumnsOp, out operand, in []operand) {
		runs(o.Index, func(place, column, count int) { d.copyColumns(out, place, in[0], column, count) })
	}),
	on(func(d *Device, o op.PlaceColumnsOp, out operand, in []operand) {
		d.Clear(out.Memory)
		runs(o.Index, func(place, column, count int) { d.copyColumns(out, column, in[0], place, count) })
	}),
	on(func(d *Device, _ op.JoinColumnsOp, out operand, in []operand) {
		d.copyColumns(out, 0, in[0], 0, in[0].columns())
		d.copyColumns(out, in[0].columns(), in[1], 0, in[1].columns())
	}),

	// The draws are hashes of seed, step and place, by the same integers on a device: the same
	// elements are dropped, the same images mirrored, the same rows drawn.
	on(func(d *Device, o op.DropoutOp, out operand, in []operand) {
		d.launch("dropout", each(out.Size()), out, in[0], in[1], int64(o.Seed), int64(o.Rate*(1<<53)), float32(1/(1-o.Rate)), out.Size())
	}),
	on(func(d *Device, o op.AugmentOp, out operand, in []operand) {
		d.launch("augment", each(out.Size()), out, in[0], in[1], int64(o.Seed), int64(math.Ceil(o.Mirror*(1<<53))), o.C, o.H, o.W, o.Pad, out.Size())
	}),
}

// convolution is the sizes of one: images N×C×H×W, kernels O×C×k×l, results N×O×high×wide.
type convolution struct{ n, c, h, w, o, kh, kw, high, wide, stride, pad int }

// newConvolution is that of o on images x and kernels w.
func newConvolution(o op.ConvOp, x, w tensor.Shape) convolution {
	g := convolution{n: x[0], c: x[1], h: x[2], w: x[3], o: w[0], kh: w[2], kw: w[3], stride: o.Stride, pad: o.Pad}
	g.high, g.wide = (g.h+2*g.pad-g.kh)/g.stride+1, (g.w+2*g.pad-g.kw)/g.stride+1
	return g
}

func (g convolution) launch(d *Device, name string, grid Grid, out operand, in []operand, more ...any) {
	args := []any{out, in[0], in[1], g.n, g.c, g.h, g.w, g.o, g.kh, g.kw, g.high, g.wide, g.stride, g.pad}
	d.launch(name, grid, append(args, more...)...)
}

// channels are those of n images whose planes have area places each, or the columns of a
// matrix of n rows, area being 1.
type channels struct{ n, channels, area int }

func channelsOf(x operand) channels {
	return channels{x.Shape[0], x.Shape[1], x.Size() / (x.Shape[0] * x.Shape[1])}
}

// values is how many a channel has.
func (c channels) values() float32 { return float32(c.n * c.area) }

// channelSum is a sum of each channel's values of x, divided by count: 0 of x, 1 of (x−μ)², 2 of
// (x−μ)g, divided by √(v + ε) too.
type channelSum struct {
	of                        int
	out, x, mean, g, variance operand
	epsilon, count            float32
}

// channelPart is how many values of a channel one block adds.
const channelPart = 8192

func (d *Device) channel(s channelSum) {
	c := channelsOf(s.x)
	cut := max(1, (c.n*c.area+channelPart-1)/channelPart)
	sums := d.alloc64(cut * c.channels)
	d.launch("channel_parts", box(c.channels, cut, 1), sums, s.x, s.mean, s.g, s.of, c.n, c.channels, c.area, channelPart)
	d.launch("channel_finish", each(c.channels), s.out, sums, s.variance, s.epsilon, s.count, cut, c.channels)
	d.Free(sums)
}

// block is one of o's matrices, which lie below each other.
func block(o op.BlockMatMulOp, s tensor.Shape) tensor.Shape { return tensor.Shape{s[0] / o.N, s[1]} }

// headed is the heads of B sequences.
type headed struct{ Heads, B int }

// multiply makes the products p of all heads, whose matrices lie so far apart.
func (h headed) multiply(d *Device, p product, out operand, in []operand, of pairs) {
	of.count, of.inner = h.B*h.Heads, h.Heads
	p.z, p.x, p.y, p.pairs = out.Memory, in[0].Memory, in[1].Memory, of
	d.products(p, p.k)
}

// tokens is a (B·s)×d matrix of them, and scores one of (B·h·s)×t.
func (h headed) tokens(s, d int) apart { return apart{row: d, outer: s * d, inner: d / h.Heads} }
func (h headed) scores(s, t int) apart { return apart{row: t, outer: h.Heads * s * t, inner: s * t} }

// copyColumns copies count columns from column from of x to column to of out.
func (d *Device) copyColumns(out operand, to int, x operand, from, count int) {
	n := out.Shape[0] * count
	d.launch("copy_columns", each(n), out, x, to, out.columns(), from, x.columns(), count, n)
}

// runs calls f for each run of neighbouring columns in index: its place in index, its first
// column, and its length.
func runs(index []int, f func(place, column, count int)) {
	for lo := 0; lo < len(index); {
		hi := lo + 1
		for hi < len(index) && index[hi] == index[hi-1]+1 {
			hi++
		}
		f(lo, index[lo], hi-lo)
		lo = hi
	}
}

package op

import (
	"math"

	"calibra/graph/cuda"

	"gonum.org/v1/gonum/blas"
	"gorgonia.org/tensor"
)

func (g geometry) onDevice() cuda.Convolution {
	return cuda.Convolution{N: g.n, C: g.c, H: g.h, W: g.w, O: g.o, KH: g.kh, KW: g.kw, High: g.outH, Wide: g.outW, Stride: g.stride, Pad: g.pad}
}

func (o conv) enqueue(d *cuda.Device, out Operand, in []Operand) {
	d.Convolve(o.geometry(in[0].Shape, in[1].Shape).onDevice(), out.Memory, in[0].Memory, in[1].Memory)
}

func (o convInput) enqueue(d *cuda.Device, out Operand, in []Operand) {
	d.ConvolveInput(o.Of.geometry(out.Shape, in[1].Shape).onDevice(), out.Memory, in[0].Memory, in[1].Memory)
}

func (o convKernel) enqueue(d *cuda.Device, out Operand, in []Operand) {
	d.ConvolveKernels(o.Of.geometry(in[0].Shape, out.Shape).onDevice(), out.Memory, in[0].Memory, in[1].Memory)
}

// channels is how x divides into them.
func channels(x Operand) cuda.Channels {
	return cuda.Channels{N: x.Shape[0], Channels: x.Shape[1], Area: x.Size() / (x.Shape[0] * x.Shape[1])}
}

func (channelMean) enqueue(d *cuda.Device, out Operand, in []Operand) {
	d.ChannelMean(out.Memory, in[0].Memory, channels(in[0]))
}

func (channelVariance) enqueue(d *cuda.Device, out Operand, in []Operand) {
	d.ChannelVariance(out.Memory, in[0].Memory, in[1].Memory, channels(in[0]))
}

func (channelSum) enqueue(d *cuda.Device, out Operand, in []Operand) {
	d.ChannelSum(out.Memory, in[0].Memory, channels(in[0]))
}

func (o batchNorm) enqueue(d *cuda.Device, out Operand, in []Operand) {
	o.above(d, float32(math.Inf(-1)), out, in)
}

// above has no entry less than floor.
func (o batchNorm) above(d *cuda.Device, floor float32, out Operand, in []Operand) {
	d.BatchNorm(out.Memory, in[0].Memory, in[1].Memory, in[2].Memory, in[3].Memory, in[4].Memory, float32(o.Eps), floor, channels(in[0]))
}

func (o batchNormScale) enqueue(d *cuda.Device, out Operand, in []Operand) {
	o.beside(d, out, Operand{}, in)
}

// beside makes Σ g too, unless sum is none.
func (o batchNormScale) beside(d *cuda.Device, out, sum Operand, in []Operand) {
	d.BatchNormScale(out.Memory, sum.Memory, in[0].Memory, in[1].Memory, in[2].Memory, in[3].Memory, float32(o.Eps), channels(in[0]))
}

func (o batchNormInput) enqueue(d *cuda.Device, out Operand, in []Operand) {
	d.BatchNormInput(out.Memory, in[0].Memory, in[1].Memory, in[2].Memory, in[3].Memory, in[4].Memory, in[5].Memory, in[6].Memory, float32(o.Eps), channels(in[0]))
}

func (planeMean) enqueue(d *cuda.Device, out Operand, in []Operand) {
	d.PlaneMean(out.Memory, in[0].Memory, out.Size(), in[0].Size()/out.Size())
}

func (planeSpread) enqueue(d *cuda.Device, out Operand, in []Operand) {
	d.PlaneSpread(out.Memory, in[0].Memory, in[0].Size(), out.Size()/in[0].Size())
}

func (o layerNorm) enqueue(d *cuda.Device, out Operand, in []Operand) {
	d.LayerNorm(out.Memory, in[0].Memory, in[1].Memory, in[2].Memory, float32(o.Eps), out.Shape[0], out.columns())
}

func (o layerNormInput) enqueue(d *cuda.Device, out Operand, in []Operand) {
	d.LayerNormInput(out.Memory, in[0].Memory, in[1].Memory, in[2].Memory, float32(o.Eps), out.Shape[0], out.columns())
}

func (o layerNormScale) enqueue(d *cuda.Device, out Operand, in []Operand) {
	d.LayerNormScale(out.Memory, in[0].Memory, in[1].Memory, float32(o.Eps), in[0].Shape[0], in[0].columns())
}

// orientation is that of a product whose factors are not both transposed.
func orientation(x, y blas.Transpose) cuda.Orientation {
	switch {
	case x == blas.Trans:
		return cuda.XtY
	case y == blas.Trans:
		return cuda.XYt
	}
	return cuda.XY
}

func (o blockMatMul) enqueue(d *cuda.Device, out Operand, in []Operand) {
	x, y := o.block(in[0].Shape), o.block(in[1].Shape)
	m, k := oriented(x, o.X)
	n := out.columns()
	d.Products(orientation(o.X, o.Y), out.Memory, in[0].Memory, in[1].Memory, m, n, k, cuda.Pairs{
		Count: o.N, Inner: 1,
		X: cuda.Apart{Row: x[1], Outer: x[0] * x[1]}, Y: cuda.Apart{Row: y[1], Outer: y[0] * y[1]}, Z: cuda.Apart{Row: n, Outer: m * n},
	})
}

// pairs are the heads of all sequences.
func (o headed) pairs(x, y, z cuda.Apart) cuda.Pairs {
	return cuda.Pairs{Count: o.B * o.Heads, Inner: o.Heads, X: x, Y: y, Z: z}
}

// tokensApart is a (B·s)×d matrix of tokens.
func (o headed) tokensApart(s, d int) cuda.Apart {
	return cuda.Apart{Row: d, Outer: s * d, Inner: d / o.Heads}
}

// scoresApart is a (B·h·s)×t matrix of scores.
func (o headed) scoresApart(s, t int) cuda.Apart {
	return cuda.Apart{Row: t, Outer: o.Heads * s * t, Inner: s * t}
}

func (o headScores) enqueue(d *cuda.Device, out Operand, in []Operand) {
	h, s, t, wide := headed(o), in[0].Shape[0]/o.B, in[1].Shape[0]/o.B, in[0].columns()
	d.Products(cuda.XYt, out.Memory, in[0].Memory, in[1].Memory, s, t, wide/o.Heads, h.pairs(h.tokensApart(s, wide), h.tokensApart(t, wide), h.scoresApart(s, t)))
}

func (o headMix) enqueue(d *cuda.Device, out Operand, in []Operand) {
	h, s, t, wide := headed(o), out.Shape[0]/o.B, in[0].columns(), out.columns()
	d.Products(cuda.XY, out.Memory, in[0].Memory, in[1].Memory, s, wide/o.Heads, t, h.pairs(h.scoresApart(s, t), h.tokensApart(t, wide), h.tokensApart(s, wide)))
}

func (o headMixBack) enqueue(d *cuda.Device, out Operand, in []Operand) {
	h, s, t, wide := headed(o), in[1].Shape[0]/o.B, in[0].columns(), out.columns()
	d.Products(cuda.XtY, out.Memory, in[0].Memory, in[1].Memory, t, wide/o.Heads, s, h.pairs(h.scoresApart(s, t), h.tokensApart(s, wide), h.tokensApart(t, wide)))
}

func (tokens) enqueue(d *cuda.Device, out Operand, in []Operand) {
	d.Tokens(out.Memory, in[0].Memory, in[1].Memory, in[0].Shape[0], in[0].columns(), in[1].columns())
}

func (tokenInputs) enqueue(d *cuda.Device, out Operand, in []Operand) {
	d.TokenInputs(out.Memory, in[0].Memory, in[1].Memory, out.Shape[0], out.columns(), in[0].columns())
}

func (tokenWeights) enqueue(d *cuda.Device, out Operand, in []Operand) {
	d.TokenWeights(out.Memory, in[0].Memory, in[1].Memory, in[0].Shape[0], out.Shape[0], out.columns())
}

func (reglu) enqueue(d *cuda.Device, out Operand, in []Operand) {
	d.ReGLU(out.Memory, in[0].Memory, out.Shape[0], out.columns())
}

func (regluGrad) enqueue(d *cuda.Device, out Operand, in []Operand) {
	d.ReGLUGrad(out.Memory, in[0].Memory, in[1].Memory, in[1].Shape[0], in[1].columns())
}

func (elu) enqueue(d *cuda.Device, out Operand, in []Operand) {
	d.Map(cuda.ELU, out.Memory, in[0].Memory, out.Size(), 0)
}

func (eluGrad) enqueue(d *cuda.Device, out Operand, in []Operand) {
	d.Combine(cuda.ELUSlope, out.Memory, in[0].Memory, in[1].Memory, out.Size(), out.Size(), 0, 0)
}

func (reshape) enqueue(d *cuda.Device, out Operand, in []Operand) { d.Copy(out.Memory, in[0].Memory) }

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

func (o pickColumns) enqueue(d *cuda.Device, out Operand, in []Operand) {
	runs(o.Index, func(place, column, count int) {
		d.CopyColumns(out.Memory, place, len(o.Index), in[0].Memory, column, in[0].columns(), out.Shape[0], count)
	})
}

func (o placeColumns) enqueue(d *cuda.Device, out Operand, in []Operand) {
	d.Clear(out.Memory)
	runs(o.Index, func(place, column, count int) {
		d.CopyColumns(out.Memory, column, o.M, in[0].Memory, place, len(o.Index), out.Shape[0], count)
	})
}

func (joinColumns) enqueue(d *cuda.Device, out Operand, in []Operand) {
	b, m, l := out.Shape[0], in[0].columns(), in[1].columns()
	d.CopyColumns(out.Memory, 0, m+l, in[0].Memory, 0, m, b, m)
	d.CopyColumns(out.Memory, m, m+l, in[1].Memory, 0, l, b, l)
}

func (o category) enqueue(d *cuda.Device, out Operand, in []Operand) {
	d.Category(out.Memory, in[0].Memory, o.Column, in[0].Shape[0], in[0].columns())
}

// The draws of dropout and augment are hashes of seed, step and place, by the same integers
// on a device: the same elements are dropped, the same images mirrored.

func (o dropout) enqueue(d *cuda.Device, out Operand, in []Operand) {
	d.Dropout(out.Memory, in[0].Memory, in[1].Memory, o.Seed, uint64(o.Rate*(1<<53)), float32(1/(1-o.Rate)), out.Size())
}

func (o augment) enqueue(d *cuda.Device, out Operand, in []Operand) {
	d.Augment(out.Memory, in[0].Memory, in[1].Memory, o.Seed, uint64(math.Ceil(o.Mirror*(1<<53))), in[0].Shape[0], o.C, o.H, o.W, o.Pad)
}

// networkWork is [Work] of the products here, or 0.
func networkWork(k kernel, out tensor.Shape, in []tensor.Shape) float64 {
	switch k := k.(type) {
	case conv:
		return 2 * float64(out.TotalSize()) * float64(in[1][1:].TotalSize())
	case convInput:
		return 2 * float64(in[0].TotalSize()) * float64(in[1][1:].TotalSize())
	case convKernel:
		return 2 * float64(in[1].TotalSize()) * float64(out[1:].TotalSize())
	case blockMatMul:
		_, depth := oriented(k.block(in[0]), k.X)
		return 2 * float64(out.TotalSize()) * float64(depth)
	case headScores:
		return 2 * float64(out.TotalSize()) * float64(in[0][1]/k.Heads)
	case headMix:
		return 2 * float64(out.TotalSize()) * float64(in[0][1])
	case headMixBack:
		return 2 * float64(in[0].TotalSize()) * float64(out[1]/k.Heads)
	case gaussian:
		return 2 * float64(out.TotalSize()) * float64(in[0][1])
	case pull:
		return 2 * float64(in[0].TotalSize()) * float64(out[1])
	}
	return 0
}

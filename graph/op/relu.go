package op

import (
	"unsafe"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// ReLU is max(x, 0) of a tensor of dims dimensions, NaN for NaN; its derivative at 0 is
// 0.
func ReLU(dims int) Op { return Op{relu{kind{dims: dims}}} }

type relu struct{ of kind }

func (o relu) signature() []kind { return []kind{o.of, o.of} }

func (relu) shape(in []tensor.Shape) (tensor.Shape, error) { return same(in) }

func (relu) run(out gorgonia.Value, in []gorgonia.Value) {
	if isFloat32(out) {
		y, x := bits(values[float32](out)), bits(values[float32](in[0]))
		stretches(len(x), func(lo, hi int) {
			dst := y[lo:hi]
			for i, v := range x[lo:hi] {
				dst[i] = v &^ (v >> 31) // 0 where the sign bit is set
				if uint32(v) > negativeInfinity {
					dst[i] = v // NaN with a sign
				}
			}
		})
		return
	}
	y, x := values[float64](out), values[float64](in[0])
	stretches(len(x), func(lo, hi int) {
		dst := y[lo:hi]
		for i, v := range x[lo:hi] {
			dst[i] = max(v, 0)
		}
	})
}

// negativeInfinity is the bits of −∞, beyond which lie those of every NaN with a sign.
const negativeInfinity = 0xff800000

func (relu) wrt() []bool { return []bool{true} }

func (o relu) grad(_ gorgonia.Nodes, out, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c grads
	return gorgonia.Nodes{c.apply(Op{reluGrad(o)}, out, g)}, c.err
}

// reluGrad is g where y > 0, else 0, from y = ReLU(x) and g.
type reluGrad struct{ of kind }

func (o reluGrad) signature() []kind { return []kind{o.of, o.of, o.of} }

func (reluGrad) shape(in []tensor.Shape) (tensor.Shape, error) { return same(in) }

func (reluGrad) run(out gorgonia.Value, in []gorgonia.Value) {
	if isFloat32(out) {
		dx, y, g := bits(values[float32](out)), bits(values[float32](in[0])), bits(values[float32](in[1]))
		stretches(len(y), func(lo, hi int) {
			dst, slopes := dx[lo:hi], g[lo:hi]
			for i, v := range y[lo:hi] {
				dst[i] = slopes[i] & (-v >> 31) // y is not negative, so its bits are 0 or more
			}
		})
		return
	}
	dx, y, g := values[float64](out), values[float64](in[0]), values[float64](in[1])
	stretches(len(y), func(lo, hi int) {
		dst, slopes := dx[lo:hi], g[lo:hi]
		for i, v := range y[lo:hi] {
			if dst[i] = 0; v > 0 {
				dst[i] = slopes[i]
			}
		}
	})
}

// bits is x as the integers that the same memory holds: signs decide without a
// branch that no predictor could foresee.
func bits(x []float32) []int32 {
	return unsafe.Slice((*int32)(unsafe.Pointer(unsafe.SliceData(x))), len(x))
}

// stretches calls f for stretches lo … hi−1 of n values, side by side where they
// are many.
func stretches(n int, f func(lo, hi int)) {
	const length = 1 << 15
	if n <= length {
		f(0, n)
		return
	}
	parallel((n+length-1)/length, func(i int) { f(i*length, min((i+1)*length, n)) })
}

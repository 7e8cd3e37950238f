package op

import (
	"unsafe"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// ReLU is max(x, 0) of a tensor of dims dimensions, NaN for NaN; its derivative at 0 is
// 0.
func ReLU(dims int) Op { return Op{ReLUOp{Kind{Dims: dims}}} }

// ReLUOp is the op of [ReLU].
type ReLUOp struct{ Of Kind }

func (o ReLUOp) Signature() []Kind { return []Kind{o.Of, o.Of} }

func (ReLUOp) Shape(in []tensor.Shape) (tensor.Shape, error) { return SameShape(in) }

func (ReLUOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	if IsFloat32(out) {
		y, x := bits(Values[float32](out)), bits(Values[float32](in[0]))
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
	y, x := Values[float64](out), Values[float64](in[0])
	stretches(len(x), func(lo, hi int) {
		dst := y[lo:hi]
		for i, v := range x[lo:hi] {
			dst[i] = max(v, 0)
		}
	})
}

// negativeInfinity is the bits of −∞, beyond which lie those of every NaN with a sign.
const negativeInfinity = 0xff800000

func (ReLUOp) WRT() []bool { return []bool{true} }

func (o ReLUOp) Grad(_ gorgonia.Nodes, out, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c Grads
	return gorgonia.Nodes{c.Apply(Op{ReLUGradOp(o)}, out, g)}, c.Err
}

// ReLUGradOp is g where y > 0, else 0, from y = ReLU(x) and g.
type ReLUGradOp struct{ Of Kind }

func (o ReLUGradOp) Signature() []Kind { return []Kind{o.Of, o.Of, o.Of} }

func (ReLUGradOp) Shape(in []tensor.Shape) (tensor.Shape, error) { return SameShape(in) }

func (ReLUGradOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	if IsFloat32(out) {
		dx, y, g := bits(Values[float32](out)), bits(Values[float32](in[0])), bits(Values[float32](in[1]))
		stretches(len(y), func(lo, hi int) {
			dst, slopes := dx[lo:hi], g[lo:hi]
			for i, v := range y[lo:hi] {
				dst[i] = slopes[i] & (-v >> 31) // y is not negative, so its bits are 0 or more
			}
		})
		return
	}
	dx, y, g := Values[float64](out), Values[float64](in[0]), Values[float64](in[1])
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

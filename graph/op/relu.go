package op

import "unsafe"

// ReLU is max(x, 0) of a tensor of dims dimensions, NaN for NaN; its derivative at 0 is
// 0.
func ReLU(dims int) Op { return Op{ReLUOp{Kind{Dims: dims}}} }

// ReLUOp is the op of [ReLU].
type ReLUOp struct{ Of Kind }

func (o ReLUOp) Form() string              { return AlikeByRow(o.Of, 1) }
func (o ReLUOp) Run(out Value, in []Value) { Dispatch(o, out, in, relu32, relu64) }

func relu32(_ ReLUOp, v Args[float32]) {
	y, x := bits[int32](v.Out()), bits[int32](v.In(0))
	chunks(len(x), func(lo, hi int) {
		dst := y[lo:hi]
		for i, v := range x[lo:hi] {
			dst[i] = v &^ (v >> 31) // 0 where the sign bit is set
			if uint32(v) > negativeInfinity {
				dst[i] = v // NaN with a sign
			}
		}
	})
}

func relu64(_ ReLUOp, v Args[float64]) {
	y, x := v.Out(), v.In(0)
	chunks(len(x), func(lo, hi int) {
		dst := y[lo:hi]
		for i, v := range x[lo:hi] {
			dst[i] = max(v, 0)
		}
	})
}

// negativeInfinity is the bits of −∞, beyond which lie those of every NaN with a sign.
const negativeInfinity = 0xff800000

func (o ReLUOp) Grad(_ Nodes, out, g *Node) (Nodes, error) {
	return Nodes{Op{ReLUGradOp(o)}.Of(out, g)}, nil
}

// ReLUGradOp is g where y > 0, else 0, from y = ReLU(x) and g.
type ReLUGradOp struct{ Of Kind }

func (o ReLUGradOp) Form() string { return AlikeByRow(o.Of, 2) }
func (o ReLUGradOp) Run(out Value, in []Value) {
	Dispatch(o, out, in, reluGradients[float32, int32], reluGradients[float64, int64])
}

func reluGradients[F Float, I int32 | int64](_ ReLUGradOp, v Args[F]) {
	dx, y, g := bits[I](v.Out()), bits[I](v.In(0)), bits[I](v.In(1))
	chunks(len(y), func(lo, hi int) {
		dst, gradients := dx[lo:hi], g[lo:hi]
		for i, v := range y[lo:hi] {
			gradient := gradients[i]
			if v <= 0 { // y is not negative, so its bits are 0 or more
				gradient = 0
			}
			dst[i] = gradient
		}
	})
}

// bits is x as the integers of as many bits that the same memory holds: signs decide
// without a branch that no predictor could foresee.
func bits[I int32 | int64, F Float](x []F) []I {
	return unsafe.Slice((*I)(unsafe.Pointer(unsafe.SliceData(x))), len(x))
}

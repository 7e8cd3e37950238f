package op

import (
	"fmt"
	"math"
	"unsafe"

	"calibra/graph/work"
)

// ELU is x for x > 0 and eˣ − 1 below (Clevert et al. 2016), of a tensor of dims
// dimensions.
func ELU(dims int) Op { return Op{ELUOp{Kind{Dims: dims}}} }

// ELUOp is the op of [ELU].
type ELUOp struct{ Of Kind }

func (o ELUOp) Form() string              { return AlikeByRow(o.Of, 1) }
func (o ELUOp) Run(out Value, in []Value) { Dispatch(o, out, in, elu, elu) }

func elu[F Float](_ ELUOp, v Args[F]) {
	out := v.Out()
	for i, x := range v.In(0) {
		if x > 0 {
			out[i] = x
		} else {
			out[i] = F(math.Expm1(float64(x)))
		}
	}
}

func (o ELUOp) Grad(_ Nodes, out, g *Node) Nodes { return Nodes{Op{ELUGradOp(o)}.Of(out, g)} }

// ELUGradOp is g·min(1, 1 + y), from y = ELU(x) and g.
type ELUGradOp struct{ Of Kind }

func (o ELUGradOp) Form() string              { return AlikeByRow(o.Of, 2) }
func (o ELUGradOp) Run(out Value, in []Value) { Dispatch(o, out, in, eluGradients, eluGradients) }

func eluGradients[F Float](_ ELUGradOp, v Args[F]) {
	out, g := v.Out(), v.In(1)
	for i, y := range v.In(0) {
		out[i] = g[i] * min(1, 1+y)
	}
}

// ReLU is max(x, 0) of a tensor of dims dimensions, NaN for NaN; its derivative at 0 is
// 0.
func ReLU(dims int) Op { return Op{ReLUOp{Kind{Dims: dims}}} }

// ReLUOp is the op of [ReLU].
type ReLUOp struct{ Of Kind }

func (o ReLUOp) Form() string              { return AlikeByRow(o.Of, 1) }
func (o ReLUOp) Run(out Value, in []Value) { Dispatch(o, out, in, relu32, relu64) }

func relu32(_ ReLUOp, v Args[float32]) {
	y, x := bits[int32](v.Out()), bits[int32](v.In(0))
	work.Ranges(len(x), few, func(lo, hi int) {
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
	work.Ranges(len(x), few, func(lo, hi int) {
		dst := y[lo:hi]
		for i, v := range x[lo:hi] {
			dst[i] = max(v, 0)
		}
	})
}

// negativeInfinity is the bits of −∞, beyond which lie those of every NaN with a sign.
const negativeInfinity = 0xff800000

func (o ReLUOp) Grad(_ Nodes, out, g *Node) Nodes { return Nodes{Op{ReLUGradOp(o)}.Of(out, g)} }

// ReLUGradOp is g where y > 0, else 0, from y = ReLU(x) and g.
type ReLUGradOp struct{ Of Kind }

func (o ReLUGradOp) Form() string { return AlikeByRow(o.Of, 2) }
func (o ReLUGradOp) Run(out Value, in []Value) {
	Dispatch(o, out, in, reluGradients[float32, int32], reluGradients[float64, int64])
}

func reluGradients[F Float, I int32 | int64](_ ReLUGradOp, v Args[F]) {
	dx, y, g := bits[I](v.Out()), bits[I](v.In(0)), bits[I](v.In(1))
	work.Ranges(len(y), few, func(lo, hi int) {
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

// ReGLU is a ⊙ ReLU(b) of the halves [a, b] of each row of X (B×2H): B×H (Shazeer
// 2020).
func ReGLU() Op { return Op{ReGLUOp{}} }

// ReGLUOp is the op of [ReGLU].
type ReGLUOp struct{}

func (ReGLUOp) Form() string                { return "B G -> B G/2" }
func (o ReGLUOp) Run(out Value, in []Value) { Dispatch(o, out, in, gate, gate) }

func gate[F Float](_ ReGLUOp, v Args[F]) {
	out, x, h := v.Out(), v.In(0), v.Columns(0)/2
	work.Each(len(out)/h, rowBlock, func(i int) {
		dst, a, b := out[i*h:(i+1)*h], x[2*i*h:(2*i+1)*h], x[(2*i+1)*h:(2*i+2)*h]
		for j, v := range a {
			dst[j] = v * max(b[j], 0)
		}
	})
}

func (ReGLUOp) Grad(in Nodes, _, g *Node) Nodes { return Nodes{Op{ReGLUGradOp{}}.Of(in[0], g)} }

// ReGLUGradOp is [g ReLU(b), g a where b > 0], from X and G.
type ReGLUGradOp struct{}

func (ReGLUGradOp) Form() string                { return "B H+H, B H -> B H+H" }
func (o ReGLUGradOp) Run(out Value, in []Value) { Dispatch(o, out, in, gateGradients, gateGradients) }

func gateGradients[F Float](_ ReGLUGradOp, v Args[F]) {
	out, x, g, h := v.Out(), v.In(0), v.In(1), v.Columns(1)
	work.Each(len(g)/h, rowBlock, func(i int) {
		a, b := x[2*i*h:(2*i+1)*h], x[(2*i+1)*h:(2*i+2)*h]
		da, db := out[2*i*h:(2*i+1)*h], out[(2*i+1)*h:(2*i+2)*h]
		for j, v := range g[i*h : (i+1)*h] {
			da[j], db[j] = 0, 0
			if b[j] > 0 {
				da[j], db[j] = v*b[j], v*a[j]
			}
		}
	})
}

// Dropout sets each element of X (B×H) to 0 with probability rate and divides the
// others by 1 − rate (Srivastava et al. 2014). Which, is a hash of the seed, the
// step number t (1) and the element's place: no state, no clock, the same mask for
// the value and its gradient. Whoever builds the graph lets t grow from step to
// step.
func Dropout(rate float64, seed uint64) Op {
	if !(rate >= 0 && rate < 1) {
		panic(fmt.Sprintf("op: a dropout rate of %v is not in [0, 1)", rate))
	}
	return Op{DropoutOp{rate, seed}}
}

// DropoutOp is the op of [Dropout].
type DropoutOp struct {
	Rate float64
	Seed uint64
}

func (DropoutOp) Form() string                { return "B H, 1 -> B H" }
func (o DropoutOp) Run(out Value, in []Value) { Dispatch(o, out, in, drop, drop) }

func drop[F Float](o DropoutOp, v Args[F]) {
	out, x, t := v.Out(), v.In(0), uint64(v.In(1)[0])
	key, keep := mix(o.Seed+mix(t)), F(1/(1-o.Rate))
	threshold := uint64(o.Rate * (1 << 53))
	work.Ranges(len(x), few, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			if mix(key+uint64(i))>>11 < threshold {
				out[i] = 0
			} else {
				out[i] = keep * x[i]
			}
		}
	})
}

// mix is the finalizer of SplitMix64 (Steele, Lea and Flood 2014) after one step
// of its Weyl sequence.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func (DropoutOp) WRT() []bool { return []bool{true, false} }

func (o DropoutOp) Grad(in Nodes, _, g *Node) Nodes { return Nodes{Op{o}.Of(g, in[1]), nil} }

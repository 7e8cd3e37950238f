package op

import (
	"fmt"
	"math"

	"calibra/graph/simd"

	"gonum.org/v1/gonum/mathext"
)

// The elementwise functions take a tensor of dims dimensions (1 or more) and keep
// its shape. In float32 the vectorized form of package simd runs where there is
// one; the others are computed in float64 and rounded once.

// Softplus is log(1 + exp x), without overflow: max(x, 0) + log1p(exp(−|x|)).
func Softplus(dims int) Op { return Op{ElementwiseOp{Kind{Dims: dims}, "softplus"}} }

// Sigmoid is 1/(1 + exp(−x)), the derivative of Softplus.
func Sigmoid(dims int) Op { return Op{ElementwiseOp{Kind{Dims: dims}, "sigmoid"}} }

// Exp is eˣ.
func Exp(dims int) Op { return Op{ElementwiseOp{Kind{Dims: dims}, "exp"}} }

// Lgamma is log Γ(x) for x > 0.
func Lgamma(dims int) Op { return Op{ElementwiseOp{Kind{Dims: dims}, "lgamma"}} }

// Digamma is ψ(x) = d log Γ(x)/dx for x > 0.
func Digamma(dims int) Op { return Op{ElementwiseOp{Kind{Dims: dims}, "digamma"}} }

// Trigamma is ψ′(x) for x > 0. It has no derivative here.
func Trigamma(dims int) Op { return Op{ElementwiseOp{Kind{Dims: dims}, "trigamma"}} }

func lgamma(x float64) float64 {
	l, _ := math.Lgamma(x)
	return l
}

// functions gives f, its vectorized forms if there are any and, where it exists, f′ as an op of
// x and y = f(x).
var functions = map[string]struct {
	f      func(float64) float64
	fast   func(dst, x []float32)
	fast64 func(dst, x []float64)
	slope  func(dims int, x, y *Node) *Node
}{
	"softplus": {f: simd.Softplus64, fast: simd.Softplus, slope: func(dims int, x, _ *Node) *Node { return Sigmoid(dims).Of(x) }},
	"sigmoid":  {f: simd.Sigmoid64, fast: simd.Sigmoid, slope: func(dims int, _, y *Node) *Node { return logisticDerivative(dims).Of(y) }},
	"exp":      {f: math.Exp, fast: simd.Exp, slope: func(_ int, _, y *Node) *Node { return y }},
	"lgamma":   {f: lgamma, fast: simd.Lgamma, fast64: simd.Lgamma64, slope: func(dims int, x, _ *Node) *Node { return Digamma(dims).Of(x) }},
	"digamma":  {f: mathext.Digamma, fast: simd.Digamma, slope: func(dims int, x, _ *Node) *Node { return Trigamma(dims).Of(x) }},
	"trigamma": {f: func(x float64) float64 { return mathext.Zeta(2, x) }},
	"y(1-y)":   {f: func(y float64) float64 { return y * (1 - y) }},
}

func logisticDerivative(dims int) Op { return Op{ElementwiseOp{Kind{Dims: dims}, "y(1-y)"}} }

// ElementwiseOp is a function F of single elements: one of softplus, sigmoid, exp, lgamma,
// digamma, trigamma and y(1-y), the slope of sigmoid.
type ElementwiseOp struct {
	Of Kind
	F  string
}

func (o ElementwiseOp) Form() string              { return AlikeByRow(o.Of, 1) }
func (o ElementwiseOp) Run(out Value, in []Value) { Dispatch(o, out, in, elementwise, elementwise) }

func elementwise[F Float](o ElementwiseOp, v Args[F]) {
	f := functions[o.F]
	if fast := pick[func(dst, x []F)](f.fast, f.fast64); fast != nil {
		fast(v.Out(), v.In(0))
		return
	}
	out := v.Out()
	for i, x := range v.In(0) {
		out[i] = F(f.f(float64(x)))
	}
}

func (o ElementwiseOp) WRT() []bool { return []bool{functions[o.F].slope != nil} }

func (o ElementwiseOp) Grad(in Nodes, out, g *Node) Nodes {
	return Nodes{Times(o.Of.Dims).Of(functions[o.F].slope(o.Of.Dims, in[0], out), g)}
}

// FlooredLog is log max(x, floor) of a tensor of dims dimensions, for a positive
// floor; its derivative is 1/x above the floor and 0 at and below it.
func FlooredLog(dims int, floor float64) Op {
	if !(floor > 0) {
		panic(fmt.Sprintf("op: FlooredLog with a floor of %v, which is not positive", floor))
	}
	return Op{FlooredLogOp{Kind{Dims: dims}, floor}}
}

// FlooredLogOp is the op of [FlooredLog].
type FlooredLogOp struct {
	Of    Kind
	Floor float64
}

func (o FlooredLogOp) Form() string              { return AlikeByRow(o.Of, 1) }
func (o FlooredLogOp) Run(out Value, in []Value) { Dispatch(o, out, in, flooredLog, flooredLog) }

func flooredLog[F Float](o FlooredLogOp, v Args[F]) {
	out := v.Out()
	for i, x := range v.In(0) {
		out[i] = F(math.Log(max(float64(x), o.Floor)))
	}
}

func (o FlooredLogOp) Grad(in Nodes, _, g *Node) Nodes {
	return Nodes{Op{FlooredLogGradOp(o)}.Of(in[0], g)}
}

// FlooredLogGradOp is g/x where x is above the floor and 0 elsewhere.
type FlooredLogGradOp struct {
	Of    Kind
	Floor float64
}

func (o FlooredLogGradOp) Form() string              { return AlikeByRow(o.Of, 2) }
func (o FlooredLogGradOp) Run(out Value, in []Value) { Dispatch(o, out, in, divideAbove, divideAbove) }

func divideAbove[F Float](o FlooredLogGradOp, v Args[F]) {
	out, g, floor := v.Out(), v.In(1), F(o.Floor)
	for i, x := range v.In(0) {
		if out[i] = 0; x > floor {
			out[i] = g[i] / x
		}
	}
}

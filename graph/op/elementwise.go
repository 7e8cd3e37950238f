package op

import (
	"math"

	"calibra/graph/simd"

	"gonum.org/v1/gonum/mathext"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
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

// functions gives f and, where it exists, f′ as an op of x and y = f(x).
var functions = map[string]struct {
	f     func(float64) float64
	slope func(c *Grads, dims int, x, y *gorgonia.Node) *gorgonia.Node
}{
	"softplus": {simd.Softplus64, func(c *Grads, dims int, x, _ *gorgonia.Node) *gorgonia.Node { return c.Apply(Sigmoid(dims), x) }},
	"sigmoid":  {simd.Sigmoid64, func(c *Grads, dims int, _, y *gorgonia.Node) *gorgonia.Node { return c.Apply(logisticSlope(dims), y) }},
	"exp":      {math.Exp, func(_ *Grads, _ int, _, y *gorgonia.Node) *gorgonia.Node { return y }},
	"lgamma":   {lgamma, func(c *Grads, dims int, x, _ *gorgonia.Node) *gorgonia.Node { return c.Apply(Digamma(dims), x) }},
	"digamma":  {mathext.Digamma, func(c *Grads, dims int, x, _ *gorgonia.Node) *gorgonia.Node { return c.Apply(Trigamma(dims), x) }},

	"trigamma": {f: func(x float64) float64 { return mathext.Zeta(2, x) }},
	"y(1-y)":   {f: func(y float64) float64 { return y * (1 - y) }},
}

func logisticSlope(dims int) Op { return Op{ElementwiseOp{Kind{Dims: dims}, "y(1-y)"}} }

// ElementwiseOp is a function F of single elements: one of softplus, sigmoid, exp, lgamma,
// digamma, trigamma and y(1-y), the slope of sigmoid.
type ElementwiseOp struct {
	Of Kind
	F  string
}

func (o ElementwiseOp) Signature() []Kind { return []Kind{o.Of, o.Of} }

func (ElementwiseOp) Shape(in []tensor.Shape) (tensor.Shape, error) { return SameShape(in) }

func (o ElementwiseOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	f := functions[o.F]
	switch fast := vectorized[o.F]; {
	case !IsFloat32(out):
		mapTo(Values[float64](out), Values[float64](in[0]), f.f)
	case fast != nil:
		fast(Values[float32](out), Values[float32](in[0]))
	default:
		mapTo(Values[float32](out), Values[float32](in[0]), f.f)
	}
}

var vectorized = map[string]func(dst, x []float32){
	"softplus": simd.Softplus, "sigmoid": simd.Sigmoid, "exp": simd.Exp, "lgamma": simd.Lgamma, "digamma": simd.Digamma,
}

func mapTo[F Float](out, x []F, f func(float64) float64) {
	for i, v := range x {
		out[i] = F(f(float64(v)))
	}
}

func (o ElementwiseOp) WRT() []bool { return []bool{functions[o.F].slope != nil} }

func (o ElementwiseOp) Grad(in gorgonia.Nodes, out, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c Grads
	dx := c.Apply(Times(o.Of.Dims), functions[o.F].slope(&c, o.Of.Dims, in[0], out), g)
	return gorgonia.Nodes{dx}, c.Err
}

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
func Softplus(dims int) Op { return Op{elementwise{kind{dims: dims}, "softplus"}} }

// Sigmoid is 1/(1 + exp(−x)), the derivative of Softplus.
func Sigmoid(dims int) Op { return Op{elementwise{kind{dims: dims}, "sigmoid"}} }

// Exp is eˣ.
func Exp(dims int) Op { return Op{elementwise{kind{dims: dims}, "exp"}} }

// Lgamma is log Γ(x) for x > 0.
func Lgamma(dims int) Op { return Op{elementwise{kind{dims: dims}, "lgamma"}} }

// Digamma is ψ(x) = d log Γ(x)/dx for x > 0.
func Digamma(dims int) Op { return Op{elementwise{kind{dims: dims}, "digamma"}} }

// Trigamma is ψ′(x) for x > 0. It has no derivative here.
func Trigamma(dims int) Op { return Op{elementwise{kind{dims: dims}, "trigamma"}} }

func lgamma(x float64) float64 {
	l, _ := math.Lgamma(x)
	return l
}

// functions gives f and, where it exists, f′ as an op of x and y = f(x).
var functions = map[string]struct {
	f     func(float64) float64
	slope func(c *grads, dims int, x, y *gorgonia.Node) *gorgonia.Node
}{
	"softplus": {simd.Softplus64, func(c *grads, dims int, x, _ *gorgonia.Node) *gorgonia.Node { return c.apply(Sigmoid(dims), x) }},
	"sigmoid":  {simd.Sigmoid64, func(c *grads, dims int, _, y *gorgonia.Node) *gorgonia.Node { return c.apply(logisticSlope(dims), y) }},
	"exp":      {math.Exp, func(_ *grads, _ int, _, y *gorgonia.Node) *gorgonia.Node { return y }},
	"lgamma":   {lgamma, func(c *grads, dims int, x, _ *gorgonia.Node) *gorgonia.Node { return c.apply(Digamma(dims), x) }},
	"digamma":  {mathext.Digamma, func(c *grads, dims int, x, _ *gorgonia.Node) *gorgonia.Node { return c.apply(Trigamma(dims), x) }},

	"trigamma": {f: func(x float64) float64 { return mathext.Zeta(2, x) }},
	"y(1-y)":   {f: func(y float64) float64 { return y * (1 - y) }},
}

func logisticSlope(dims int) Op { return Op{elementwise{kind{dims: dims}, "y(1-y)"}} }

type elementwise struct {
	of kind
	F  string
}

func (o elementwise) signature() []kind { return []kind{o.of, o.of} }

func (elementwise) shape(in []tensor.Shape) (tensor.Shape, error) { return same(in) }

func (o elementwise) run(out gorgonia.Value, in []gorgonia.Value) {
	f := functions[o.F]
	switch fast := vectorized[o.F]; {
	case !isFloat32(out):
		mapTo(values[float64](out), values[float64](in[0]), f.f)
	case fast != nil:
		fast(values[float32](out), values[float32](in[0]))
	default:
		mapTo(values[float32](out), values[float32](in[0]), f.f)
	}
}

var vectorized = map[string]func(dst, x []float32){
	"softplus": simd.Softplus, "sigmoid": simd.Sigmoid, "exp": simd.Exp, "lgamma": simd.Lgamma, "digamma": simd.Digamma,
}

func mapTo[F float](out, x []F, f func(float64) float64) {
	for i, v := range x {
		out[i] = F(f(float64(v)))
	}
}

func (o elementwise) wrt() []bool { return []bool{functions[o.F].slope != nil} }

func (o elementwise) grad(in gorgonia.Nodes, out, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c grads
	dx := c.apply(Times(o.of.dims), functions[o.F].slope(&c, o.of.dims, in[0], out), g)
	return gorgonia.Nodes{dx}, c.err
}

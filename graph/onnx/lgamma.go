package onnx

// logGammaOp is log Γ, which an [Engine] has and ONNX has not.
const logGammaOp = "LogGamma"

// logGamma is log Γ(x), x > 0, by two shifts:
//
//	log Γ(x) = (x − ½) log z − x − log v(v + 1) − t(v) ,  z = x + 2 ,  v = x/z
//
// t is what Stirling's series is there, a smooth function on [0, 1]: a polynomial, within 3.1e-9.
func (g *Network) logGamma(x Value) Value {
	if g.served {
		return g.Node(logGammaOp, []Value{x})
	}
	smooth, v, after := g.gammaParts(x)
	logs := g.Log(g.Mul(v, g.Add(v, g.Scalar(1))))
	return g.Sub(g.Sub(smooth, x), g.Add(logs, g.tail(v, after, 1)))
}

// logBeta is Σ_i log Γ(x_i) − log Γ(Σ_i x_i) along axis 1 of x (B×n×D), each of at least
// op.AlphaFloor: B×D. Logarithms are taken of products.
func (g *Network) logBeta(x Value, n int64) Value {
	if g.served {
		return g.Sub(g.Sum(g.logGamma(x), 1, 0), g.logGamma(g.Sum(x, 1, 0)))
	}
	smooth, v, after := g.gammaParts(x)
	total := g.Sum(x, 1, 0)
	logs := g.logProducts(n, v, g.Add(v, g.Scalar(1)))
	sum := g.Sub(g.Sub(g.Sum(smooth, 1, 0), total), g.Add(logs, g.tail(g.Sum(v, 1, 0), g.Sum(after, 1, 0), n)))
	return g.Sub(sum, g.logGamma(total))
}

// gammaParts are (x − ½) log z, v, and what t has after its linear term, which is below 1e-3
// and in float32.
func (g *Network) gammaParts(x Value) (smooth, v, after Value) {
	z := g.Add(x, g.Scalar(2))
	v = g.Div(x, z)
	single := g.Cast(v, Single)
	number := func(at int) Value { return Table(g, []float32{float32(gammaTail[at])}) }
	last := len(gammaTail) - 1
	after = number(last)
	for at := last - 1; at > 1; at-- {
		after = g.Add(g.Mul(after, single), number(at))
	}
	return g.Mul(g.Sub(x, g.Scalar(.5)), g.Log(z)), v, g.Mul(g.Mul(after, single), single)
}

// tail is t, or its sum of n numbers, of whose other parts are sums.
func (g *Network) tail(v, after Value, n int64) Value {
	line := g.Add(g.Mul(v, g.Scalar(gammaTail[1])), g.Scalar(float64(n)*gammaTail[0]))
	return g.Add(line, g.Cast(after, Double))
}

// logProducts is Σ log u along axis 1, of length n, of all of factors.
func (g *Network) logProducts(n int64, factors ...Value) Value {
	group := min(n, mostFactors)
	for n%group != 0 {
		group--
	}
	product := g.Scalar(1)
	for _, u := range factors {
		parts := g.Reshape(u, 0, n/group, group, -1) // B×n/group×group×D
		product = g.Mul(product, g.product(parts, 2))
	}
	return g.Sum(g.Log(product), 1, 0)
}

// mostFactors is how many factors v have a product in float64, where x is op.AlphaFloor.
const mostFactors = 32

// gammaTail are the coefficients of t, the lowest first: the best polynomial of its degree on
// [0, 1], by Remez's exchange in 40 digits.
var gammaTail = []float64{0.3465735871966481, 0.04072590673117791, 0.0008551186367348247, -0.0001822203449505926, -6.750592606977691e-5, 9.396858516924492e-6}

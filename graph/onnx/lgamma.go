package onnx

// lgamma is the function calibra.Lgamma(x) = log Γ(x) for x > 0, by eight shifts and
// Stirling's series (Abramowitz and Stegun 1964, 6.1.15 and 6.1.41):
//
//	log Γ(x) = S(x+8) − log x(x+1)…(x+7)
//	S(z) = (z − ½) log z − z + ½ log 2π + Σ_n B_2n / (2n(2n−1) z^(2n−1)) ,  n = 1…6
//
// What the series leaves out at z = 8 is below 2e-14. The product of eight factors is
// taken as two of four, so that it is finite up to x = 1e77.
func lgamma(version int64) message {
	g := New(version, nil)
	number := func(v float64) string { // a function has no initializers
		return g.Node("Constant", nil, constant(tensorOf("", []float64{v})))
	}
	logs := ""
	for half := range 2 {
		product := ""
		for i := range 4 {
			factor := "x"
			if shift := 4*half + i; shift > 0 {
				factor = g.Add("x", number(float64(shift)))
			}
			if product == "" {
				product = factor
			} else {
				product = g.Mul(product, factor)
			}
		}
		if logs == "" {
			logs = g.Log(product)
		} else {
			logs = g.Add(logs, g.Log(product))
		}
	}
	z := g.Add("x", number(8))
	inverse := g.Div(number(1), z)
	square := g.Mul(inverse, inverse)
	series := number(stirling[len(stirling)-1])
	for n := len(stirling) - 2; n >= 0; n-- {
		series = g.Add(g.Mul(series, square), number(stirling[n]))
	}
	series = g.Mul(series, inverse)
	s := g.Sub(g.Mul(g.Sub(z, number(.5)), g.Log(z)), z)
	s = g.Add(g.Add(s, number(halfLog2Pi)), series)
	g.nodes = append(g.nodes, nodeOf("", "Sub", []string{s, logs}, []string{"y"}, nil))

	body := message{}.text(1, "Lgamma").text(4, "x").text(5, "y") // name, input, output
	for _, n := range g.nodes {
		body = body.bytes(7, n)
	}
	return body.bytes(9, opset("", version)).text(10, domain)
}

// stirling is B_2n / (2n(2n−1)).
var stirling = []float64{1. / 12, -1. / 360, 1. / 1260, -1. / 1680, 1. / 1188, -691. / 360360}

// halfLog2Pi is ½ log 2π.
const halfLog2Pi = 0.918938533204672741780329736405617639861397473637783412817151540

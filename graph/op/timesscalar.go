package op

// TimesScalar multiplies every element of X (B×C) by the one element of v (1).
func TimesScalar() Op { return Op{TimesScalarOp{}} }

// Inner is Σ x_ij y_ij of two matrices of one shape, as a vector of one element,
// summed in float64.
func Inner() Op { return Op{InnerOp{}} }

// TimesScalarOp is the op of [TimesScalar].
type TimesScalarOp struct{}

func (TimesScalarOp) Form() string                { return "B C, 1 -> B C" }
func (o TimesScalarOp) Run(out Value, in []Value) { Dispatch(o, out, in, timesScalar, timesScalar) }

func timesScalar[F Float](_ TimesScalarOp, v Args[F]) { scaleTo(v.Out(), v.In(0), v.In(1)[0]) }

func (TimesScalarOp) Grad(in Nodes, _, g *Node) (Nodes, error) {
	return Nodes{TimesScalar().Of(g, in[1]), Inner().Of(g, in[0])}, nil
}

// InnerOp is the op of [Inner].
type InnerOp struct{}

func (InnerOp) Form() string                { return "B C, B C -> 1" }
func (o InnerOp) Run(out Value, in []Value) { Dispatch(o, out, in, inner, inner) }

func inner[F Float](_ InnerOp, v Args[F]) {
	y := v.In(1)
	var sum float64
	for i, x := range v.In(0) {
		sum += float64(x) * float64(y[i])
	}
	v.Out()[0] = F(sum)
}

func (InnerOp) Grad(in Nodes, _, g *Node) (Nodes, error) {
	return Nodes{TimesScalar().Of(in[1], g), TimesScalar().Of(in[0], g)}, nil
}

package op

// Sum adds all elements of a tensor of dims dimensions to one number, in float64.
func Sum(dims int) Op { return Op{SumOp{Kind{Dims: dims}}} }

// SumOp is the op of [Sum].
type SumOp struct{ Of Kind }

func (o SumOp) Form() string              { return axesOf(o.Of) + " -> ()" }
func (o SumOp) Run(out Value, in []Value) { Dispatch(o, out, in, sum, sum) }

func sum[F Float](_ SumOp, v Args[F]) { v.Out()[0] = F(total(v.In(0))) }

func total[F Float](x []F) float64 {
	var t float64
	for _, v := range x {
		t += float64(v)
	}
	return t
}

func (o SumOp) Grad(in Nodes, _, g *Node) (Nodes, error) {
	return Nodes{Op{FillOp(o)}.Of(in[0], g)}, nil
}

// FillOp is a tensor of x's shape with g everywhere, the transpose of sum.
type FillOp struct{ Of Kind }

func (o FillOp) Form() string              { return axesOf(o.Of) + ", () -> " + axesOf(o.Of) }
func (o FillOp) Run(out Value, in []Value) { Dispatch(o, out, in, fill, fill) }

func fill[F Float](_ FillOp, v Args[F]) { fillWith(v.Out(), v.In(1)[0]) }

func fillWith[F Float](out []F, v F) {
	for i := range out {
		out[i] = v
	}
}

func (FillOp) WRT() []bool { return []bool{false, true} }

func (o FillOp) Grad(_ Nodes, _, g *Node) (Nodes, error) { return Nodes{nil, Op{SumOp(o)}.Of(g)}, nil }

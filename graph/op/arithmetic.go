package op

// Plus is the sum x + y of two tensors of one shape with dims dimensions.
func Plus(dims int) Op { return Op{PlusOp{Kind{Dims: dims}}} }

// Times is the elementwise product x ⊙ y of two tensors of one shape with dims
// dimensions.
func Times(dims int) Op { return Op{TimesOp{Kind{Dims: dims}}} }

// Scale is c·x for a constant c and a tensor of dims dimensions.
func Scale(dims int, c float64) Op { return Op{ScaleOp{Kind{Dims: dims}, c}} }

// PlusOp is the op of [Plus].
type PlusOp struct{ Of Kind }

func (o PlusOp) Form() string              { return AlikeByRow(o.Of, 2) }
func (o PlusOp) Run(out Value, in []Value) { Dispatch(o, out, in, add, add) }

func add[F Float](_ PlusOp, v Args[F]) {
	out, x, y := v.Out(), v.In(0), v.In(1)
	chunks(len(x), func(lo, hi int) {
		dst, other := out[lo:hi], y[lo:hi]
		for i, v := range x[lo:hi] {
			dst[i] = v + other[i]
		}
	})
}

func (PlusOp) Grad(_ Nodes, _, g *Node) (Nodes, error) { return Nodes{g, g}, nil }

// TimesOp is the op of [Times].
type TimesOp struct{ Of Kind }

func (o TimesOp) Form() string              { return AlikeByRow(o.Of, 2) }
func (o TimesOp) Run(out Value, in []Value) { Dispatch(o, out, in, multiply, multiply) }

// multiply takes y again and again for all of x.
func multiply[F Float, K any](_ K, v Args[F]) {
	out, x, y := v.Out(), v.In(0), v.In(1)
	for at := 0; at < len(x); at += len(y) {
		row := out[at : at+len(y)]
		for j, z := range x[at : at+len(y)] {
			row[j] = z * y[j]
		}
	}
}

func (o TimesOp) Grad(in Nodes, _, g *Node) (Nodes, error) {
	return Nodes{Op{o}.Of(g, in[1]), Op{o}.Of(g, in[0])}, nil
}

// ScaleOp is the op of [Scale].
type ScaleOp struct {
	Of Kind
	C  float64
}

func (o ScaleOp) Form() string              { return AlikeByRow(o.Of, 1) }
func (o ScaleOp) Run(out Value, in []Value) { Dispatch(o, out, in, scale, scale) }

func scale[F Float](o ScaleOp, v Args[F]) { scaleTo(v.Out(), v.In(0), F(o.C)) }

func scaleTo[F Float](out, x []F, c F) {
	for i, v := range x {
		out[i] = c * v
	}
}

func (o ScaleOp) Grad(_ Nodes, _, g *Node) (Nodes, error) { return Nodes{Op{o}.Of(g)}, nil }

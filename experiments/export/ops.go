package export

import (
	"fmt"
	"math"
	"reflect"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/op"

	"gonum.org/v1/gonum/blas"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// row says the ops of one kind in ONNX.
type row struct {
	kind  reflect.Type
	write func(g *network, o op.Kernel, in []value) (string, error)
}

// value is an input of an op: its name in the network and its shape for a batch of one
// size, whose first axis is that of the rows where it has one.
type value struct {
	string
	shape tensor.Shape
}

func (v value) columns() int64 { return int64(v.shape[len(v.shape)-1]) }

func as[K op.Kernel](write func(g *network, o K, in []value) string) row {
	return row{reflect.TypeFor[K](), func(g *network, o op.Kernel, in []value) (string, error) { return write(g, o.(K), in), nil }}
}

// plain is an op that is an operator of ONNX's.
func plain[K op.Kernel](operator string) row {
	return as(func(g *network, _ K, in []value) string {
		var names []string
		for _, v := range in {
			names = append(names, v.string)
		}
		return g.node(operator, names)
	})
}

// ops has a row for each kind of op that can be exported.
var ops = func() map[reflect.Type]row {
	all := map[reflect.Type]row{}
	for _, r := range []row{
		plain[op.PlusOp]("Add"),
		plain[op.TimesOp]("Mul"),
		plain[op.AddRowOp]("Add"),
		plain[op.TimesRowOp]("Mul"),
		plain[op.StretchOp]("Mul"),
		plain[op.ReLUOp]("Relu"),
		as(func(g *network, o op.ScaleOp, in []value) string { return g.times(in[0].string, g.scalar(o.C)) }),
		as(func(g *network, _ op.LogSoftmaxOp, in []value) string { return g.logSoftmax(in[0].string) }),
		as(func(g *network, _ op.SoftmaxOp, in []value) string { return g.exp(g.logSoftmax(in[0].string)) }),
		as(func(g *network, o op.FlooredLogOp, in []value) string {
			return g.log(g.larger(in[0].string, g.scalar(o.Floor)))
		}),
		as(func(g *network, o op.ReshapeOp, in []value) string {
			var shape []int64
			for _, d := range o.Target() {
				shape = append(shape, int64(d))
			}
			return g.reshape(in[0].string, shape...)
		}),
		as(func(g *network, o op.MatMulOp, in []value) string {
			return g.matMul(g.turned(in[0].string, o.X), g.turned(in[1].string, o.Y))
		}),
		as(func(g *network, o op.MassOp, in []value) string { // n_k = Σ_i σ_i² 1[s(i)=k]
			weight := g.reshape(in[1].string, 1, -1, 1)
			return g.sum(g.times(g.hits(in[0].string, o.K), weight), 1, 0)
		}),
		as(func(g *network, _ op.TableSumOp, in []value) string {
			w := in[1].columns()
			return g.tableSum(in[0].string, in[1].string, int(w), in[0].shape[0]/int(w))
		}),
		as(func(g *network, o op.RampsOp, in []value) string {
			return g.ramps(in[0].string, in[0].columns(), in[1].string, o.Knots)
		}),
		as(func(g *network, _ op.OuterOp, in []value) string { // B×C, B×D → B×(C·D)
			c, d := in[0].columns(), in[1].columns()
			product := g.times(g.reshape(in[0].string, -1, c, 1), g.reshape(in[1].string, -1, 1, d))
			return g.reshape(product, -1, c*d)
		}),
		as(func(g *network, o op.DirichletOp, in []value) string { // see graph/op/dirichlet.go
			return g.dirichlet(in[0].string, in[1].string, in[1].columns(), o.Delta)
		}),
		{reflect.TypeFor[op.ElementwiseOp](), func(g *network, o op.Kernel, in []value) (string, error) {
			x := in[0].string
			switch f := o.(op.ElementwiseOp).F; f {
			case "exp":
				return g.exp(x), nil
			case "softplus":
				return g.softplus(x), nil
			case "sigmoid":
				return g.node("Sigmoid", []string{x}), nil
			case "lgamma":
				return g.lgamma(x), nil
			default:
				return "", fmt.Errorf("%s cannot be said in ONNX", f)
			}
		}},
	} {
		all[r.kind] = r
	}
	return all
}()

// turned is x, transposed if t says so.
func (g *network) turned(x string, t blas.Transpose) string {
	if t == blas.NoTrans {
		return x
	}
	return g.node("Transpose", []string{x}, integers("perm", 1, 0))
}

// hits is 1[s(i)=k] of codes (B×w), B×w×K in float64.
func (g *network) hits(codes string, k int) string {
	all := make([]int64, k)
	for i := range all {
		all[i] = int64(i)
	}
	return g.cast(g.node("Equal", []string{g.node("Unsqueeze", []string{codes, g.indices(2)}), table(g, all, 1, 1, k)}), double)
}

// tableSum is Σ_i table[i·K + s(i)], of a table of w·K rows and codes B×w.
func (g *network) tableSum(rows, codes string, w, k int) string {
	first := make([]int64, w)
	for i := range first {
		first[i] = int64(i * k)
	}
	return g.sum(g.gather(rows, g.add(codes, table(g, first, 1, w))), 1, 0) // B×w×C, B×C
}

// ramps is Σ_m v_m r_m(z) of z (N×C) and v (P×1): the ramp of the piece from l to h is the
// length of [min(z,0), max(z,0)] ∩ [l, h], with the sign of z.
func (g *network) ramps(z string, classes int64, v string, knots []float64) string {
	pieces := len(knots) + 1
	lo := append([]float64{-math.MaxFloat64}, knots...)
	hi := append(append([]float64(nil), knots...), math.MaxFloat64)
	each := g.node("Unsqueeze", []string{z, g.indices(2)}) // N×C×1
	zero := g.scalar(0)
	from := g.larger(g.smaller(each, zero), table(g, lo, 1, 1, pieces))
	to := g.smaller(g.larger(each, zero), table(g, hi, 1, 1, pieces))
	part := g.times(g.larger(g.subtract(to, from), zero), g.node("Sign", []string{each})) // N×C×P
	return g.reshape(g.matMul(g.reshape(part, -1, int64(pieces)), v), -1, classes)
}

// lgamma is log Γ(x).
func (g *network) lgamma(x string) string { return g.call("Lgamma", lgamma(g.version), x) }

// dirichlet is log of B and the linear term, of A (B×C²) and log p̂ (B×C):
//
//	α = softplus(A) + ε
//	score_j = −log B(α_·j) + Σ_i (α_ij − 1 + δ 1[i=j]) log p̂_i
func (g *network) dirichlet(form, logp string, c int64, delta float64) string {
	alpha := g.add(g.softplus(g.reshape(form, -1, c, c)), g.scalar(op.AlphaFloor)) // B×C×C, row i, column j
	logB := g.subtract(g.sum(g.lgamma(alpha), 1, 0), g.lgamma(g.sum(alpha, 1, 0))) // B×C
	linear := g.sum(g.times(g.subtract(alpha, g.scalar(1)), g.reshape(logp, -1, c, 1)), 1, 0)
	return g.subtract(g.add(linear, g.times(g.scalar(delta), logp)), logB)
}

// describe adds the graph that a fitted map describes. The tensors of given are what it
// takes its rows from, under the names that they have in the network. What depends on no
// row is computed here and written as a constant.
func (g *network) describe(weights *graph.Weights, given map[*tensor.Dense]string, build func(*graph.Builder) *gorgonia.Node) (string, error) {
	b := graph.NewBuilder(weights, probe)
	out := build(b)
	p, err := b.Compile(out)
	if err != nil {
		return "", err
	}
	if err := p.Run(); err != nil {
		return "", err
	}
	named := map[int]string{} // values that depend on rows
	for i, v := range p.Values {
		if t, ok := v.(*tensor.Dense); ok && given[t] != "" {
			named[i] = given[t]
		}
	}
	name := func(i int) string {
		if n, ok := named[i]; ok {
			return n
		}
		return g.folded(p.Values[i])
	}
	for _, s := range p.Steps {
		moves := false
		var in []value
		for _, i := range s.Inputs {
			_, depends := named[i]
			moves = moves || depends
		}
		if !moves {
			continue
		}
		ours, ok := s.Op.(op.Op)
		if !ok {
			if op.IsSum(s.Op) {
				named[s.Output] = g.add(name(s.Inputs[0]), name(s.Inputs[1]))
				continue
			}
			return "", fmt.Errorf("export: the operation %v of Gorgonia's has no row in ops.go", s.Op)
		}
		if _, takes := ours.Kernel.(op.TakeOp); takes { // the rows of a batch are all rows here
			named[s.Output] = named[s.Inputs[0]]
			continue
		}
		if _, picks := ours.Kernel.(op.TopOp); picks {
			return "", data.Inputf("", "a map that looks at some classes of a row (bilinear.classes) cannot be written as ONNX; fit it without that setting")
		}
		for _, i := range s.Inputs {
			in = append(in, value{name(i), p.Values[i].Shape()})
		}
		r, ok := ops[reflect.TypeOf(ours.Kernel)]
		if !ok {
			return "", fmt.Errorf("export: the operation %T has no row in ops.go", ours.Kernel)
		}
		if named[s.Output], err = r.write(g, ours.Kernel, in); err != nil {
			return "", fmt.Errorf("export: %w", err)
		}
	}
	return name(p.Outputs[0]), nil
}

// probe is how many rows a graph is built for. It is no width that a map has.
const probe = 3

// folded is a value that depends on no row, as a constant.
func (g *network) folded(v gorgonia.Value) string {
	if v.Dtype() == tensor.Int32 {
		var whole []int64
		for _, x := range v.(*tensor.Dense).Int32s() {
			whole = append(whole, int64(x))
		}
		return table(g, whole, v.Shape()...)
	}
	return table(g, graph.Float64s(v), v.Shape()...)
}

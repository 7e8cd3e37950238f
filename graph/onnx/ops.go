package onnx

import (
	"cmp"
	"fmt"
	"slices"

	"calibra/graph"
	"calibra/graph/op"

	"gonum.org/v1/gonum/blas"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Kernel is an operation that has a form in ONNX of its own. One of another module does so, as this
// package does not know it.
type Kernel interface {
	op.Kernel
	// ONNX adds the operation on in to g and gives its value.
	ONNX(g *Network, in []Operand) (Value, error)
}

// Operand is an input of an op: its value in the network, and its shape for a batch of one
// size. If it has rows, they are its first axis.
type Operand struct {
	Value Value
	Shape tensor.Shape
	// Constant is its value if that depends on no row, else nil. If the operand has a row for each
	// row of the batch, Constant has [Probe] rows, which [Network.Each] reduces to one for all.
	Constant gorgonia.Value
}

// Each is an operand with a row for each of the batch (B×D), whatever its size.
func (g *Network) Each(v Operand) Value {
	if v.Constant == nil {
		return v.Value
	}
	d := v.Shape[1]
	return Table(g, graph.Float64s(v.Constant)[:d], 1, d)
}

// Columns is the length of its last axis.
func (v Operand) Columns() int64 { return int64(v.Shape[len(v.Shape)-1]) }

// written adds an op of package op that has no operator of codes, "" of any other.
func (g *Network) written(k op.Kernel, in []Operand) Value {
	x := in[0].Value
	switch o := k.(type) {
	case op.PlusOp, op.AddRowOp:
		return g.Add(x, in[1].Value)
	case op.TimesOp, op.TimesRowOp, op.TimesScalarOp:
		return g.Mul(x, in[1].Value)
	case op.ScaleOp:
		return g.Mul(x, g.Scalar(o.C))
	case op.ReLUOp:
		return g.Node("Relu", []Value{x})
	case op.LogSoftmaxOp:
		return g.LogSoftmax(x)
	case op.SoftmaxOp:
		return g.Softmax(x)
	case op.FlooredLogOp:
		return g.Log(g.Max(x, g.Scalar(o.Floor)))
	case op.ReshapeOp:
		var shape []int64
		for _, d := range o.Target() {
			shape = append(shape, int64(d))
		}
		return g.Reshape(x, shape...)
	case op.MatMulOp:
		return g.MatMul(g.turned(x, o.X), g.turned(in[1].Value, o.Y))
	case op.RampsOp:
		return g.ramps(x, in[0].Columns(), graph.Float64s(in[1].Constant), o.Knots)
	case op.OuterOp: // B×C, B×D → B×(C·D)
		c, d := in[0].Columns(), in[1].Columns()
		product := g.Mul(g.Reshape(x, -1, c, 1), g.Reshape(in[1].Value, -1, 1, d))
		return g.Reshape(product, -1, c*d)
	case op.DirichletOp: // see graph/op/dirichlet.go
		return g.dirichlet(x, in[1].Value, in[1].Columns(), o.Delta)
	case op.PickColumnsOp:
		index := make([]int64, len(o.Index))
		for k, j := range o.Index {
			index[k] = int64(j)
		}
		return g.Node("Gather", []Value{x, g.Indices(index...)}, Int("axis", 1))
	case op.SumBlocksOp:
		groups, blocks := int64(o.Groups), int64(o.Blocks)
		width := in[0].Columns() / (groups * blocks)
		return g.Reshape(g.Sum(g.Reshape(x, -1, groups, blocks, width), 2, 0), -1, groups*width)
	case op.ElementwiseOp:
		switch o.F {
		case "exp":
			return g.Exp(x)
		case "softplus":
			return g.Softplus(x)
		case "sigmoid":
			return g.Node("Sigmoid", []Value{x})
		case "lgamma":
			return g.logGamma(x)
		}
	}
	return ""
}

// writtenOfCodes adds an op that finds or reads codes, "" of any other.
func (g *Network) writtenOfCodes(k op.Kernel, in []Operand) Value {
	switch o := k.(type) {
	case op.NearestOp:
		return g.nearby(1, in[0], in[1])
	case op.NearestInOp:
		d := int(in[1].Columns())
		words := graph.Tensor(tensor.Float64, graph.Float64s(in[1].Constant)[o.From*d:o.To*d], o.To-o.From, d)
		return g.Add(g.nearby(1, in[0], Operand{Shape: words.Shape(), Constant: words}), g.Indices(int64(o.From)))
	case op.NearbyOp:
		return g.nearby(o.Of, in[0], in[1])
	case op.CodeSumOp:
		return g.Add(in[0].Value, g.Mul(in[1].Value, g.Indices(int64(o.N))))
	case op.CompareCodesOp:
		sign := g.Max(g.Min(g.Sub(in[0].Value, in[1].Value), g.Indices(1)), g.Indices(-1))
		return g.Add(sign, g.Indices(1))
	case op.InterleaveOp:
		w, columns := in[0].Columns(), make([]Value, o.N)
		for k, x := range in {
			columns[k] = g.Reshape(x.Value, -1, w, 1)
		}
		return g.Reshape(g.Concat(2, columns...), -1, w*int64(o.N))
	case op.NearSharesOp:
		return g.nearShares(o.Of, in)
	case op.GatherOp:
		return g.Reshape(g.Gather(in[0].Value, in[1].Value), -1, in[1].Columns()*in[0].Columns())
	case op.WordSumOp: // Σ e c of the codewords of each slot
		w, d := int64(o.Slots), in[0].Columns()
		words := g.weighted(in) // B×p×d
		return g.Reshape(g.Sum(g.Reshape(words, -1, w, in[1].Columns()/w, d), 2, 0), -1, w*d)
	case op.ShareSumOp:
		return g.Sum(g.weighted(in), 1, 0)
	case op.ShareMassOp: // n_k = Σ_at σ²_slot e_at 1[s(at)=k]
		p, w := int(in[0].Columns()), int(in[2].Columns())
		slots := make([]int64, p)
		for at := range slots {
			slots[at] = int64(at / (p / w))
		}
		weight := g.Mul(g.Each(in[1]), g.Reshape(g.Gather(in[2].Value, Table(g, slots, p)), 1, int64(p)))
		return g.Mass(in[0].Value, weight, p, o.K)
	case op.MassOp: // n_k = Σ_i σ_i² 1[s(i)=k]
		return g.Mass(in[0].Value, g.Reshape(in[1].Value, 1, -1), int(in[1].Columns()), o.K)
	case op.TableSumOp:
		w := in[1].Columns()
		return g.TableSum(in[0].Value, in[1].Value, int(w), in[0].Shape[0]/int(w))
	}
	return ""
}

// weighted are the rows of a table that places (B×p) name, each times its share.
func (g *Network) weighted(in []Operand) Value {
	return g.Mul(g.Gather(in[0].Value, in[1].Value), g.Reshape(g.Each(in[2]), -1, in[2].Columns(), 1))
}

// turned is x, transposed if t is a transpose.
func (g *Network) turned(x string, t blas.Transpose) string {
	if t == blas.NoTrans {
		return x
	}
	return g.Node("Transpose", []string{x}, Ints("perm", 1, 0))
}

// Mass is n_k = Σ_i weight_i 1[s(i)=k] (B×K) of codes (B×p) and what they weigh: one number, one
// for each place (1×p), or B×p.
func (g *Network) Mass(codes, weight Value, p, k int) Value {
	each := g.Mul(filled(g, codes, 1., int64(p)), weight)
	none := filled(g, codes, 0., int64(k))
	return g.Node("ScatterElements", []Value{none, codes, each}, Int("axis", 1), Text("reduction", "add"))
}

// TableSum is Σ_i table[i·K + s(i)], of a table of w·K rows and codes B×w.
func (g *Network) TableSum(rows, codes string, w, k int) string {
	return g.Sum(g.Gather(rows, g.Add(codes, Table(g, multiples(w, int64(k)), 1, w))), 1, 0) // B×w×C, B×C
}

// multiples are the first n multiples of a number, from 0 on.
func multiples(n int, of int64) []int64 {
	all := make([]int64, n)
	for i := range all {
		all[i] = int64(i) * of
	}
	return all
}

// ramps is Σ_m v_m r_m(z) of z (N×C): a line through 0 that bends at knots. It has the slope at 0
// times z, and for each knot t the change of slope there times what of z lies beyond it:
// max(z − t, 0), or max(t − z, 0) of a negative one.
func (g *Network) ramps(z Value, classes int64, v, knots []float64) Value {
	n, middle := len(knots), 0
	side, far, bends := make([]float64, n), make([]float64, n), make([]float64, n)
	for m, t := range knots {
		side[m] = 1
		if t <= 0 {
			side[m], middle = -1, m+1
		}
		far[m], bends[m] = side[m]*t, v[m+1]-v[m]
	}
	all := g.Reshape(z, 1, -1) // 1×N·C
	line := g.Mul(all, g.Scalar(v[middle]))
	if n > 0 {
		beyond := g.Node("Relu", []Value{g.Sub(g.Mul(all, Table(g, side, n, 1)), Table(g, far, n, 1))}) // knots×N·C
		line = g.Add(line, g.MatMul(Table(g, bends, 1, n), beyond))
	}
	return g.Reshape(line, -1, classes)
}

// dirichlet is log of B and the linear term, of A (B×C²) and log p̂ (B×C):
//
//	α = softplus(A) + ε
//	score_j = −log B(α_·j) + Σ_i (α_ij − 1 + δ 1[i=j]) log p̂_i
func (g *Network) dirichlet(form, logp Value, c int64, delta float64) Value {
	alpha := g.Add(g.Softplus(g.Reshape(form, -1, c, c)), g.Scalar(op.AlphaFloor)) // B×C×C, row i, column j
	linear := g.Reshape(g.MatMul(g.Reshape(logp, -1, 1, c), alpha), -1, c)
	own := g.Sub(g.Mul(g.Scalar(delta), logp), g.Sum(logp, 1, 1))
	return g.Sub(g.Add(linear, own), g.logBeta(alpha, c))
}

// Graph adds the graph that build describes of weights, and gives the values of its nodes. The
// tensors of given are what it takes its rows from, [Probe] each, under the values that they
// have in the network. What depends on no row is computed here and written as a constant.
func (g *Network) Graph(weights *graph.Weights, given map[*tensor.Dense]Value, build func(*graph.Builder) gorgonia.Nodes) ([]Value, error) {
	b := graph.NewBuilder(weights, Probe)
	out := build(b)
	p, err := b.Compile(out...)
	if err != nil {
		return nil, err
	}
	if p, err = p.Elsewhere(); err != nil {
		return nil, err
	}
	if err := p.Run(); err != nil {
		return nil, err
	}
	w := writing{Network: g, Program: p, named: map[int]Value{}}
	for i, v := range p.Values {
		if t, ok := v.(*tensor.Dense); ok && given[t] != "" {
			w.named[i] = given[t]
		}
	}
	for _, s := range p.Steps {
		if slices.ContainsFunc(s.Inputs, w.depends) {
			if err := w.step(s); err != nil {
				return nil, err
			}
		}
	}
	var values []Value
	for _, i := range p.Outputs {
		values = append(values, w.name(i))
	}
	return values, nil
}

// writing is a program on its way into a network.
type writing struct {
	*Network
	*graph.Program
	named map[int]Value // values that depend on rows
}

func (w *writing) depends(i int) bool {
	_, depends := w.named[i]
	return depends
}

func (w *writing) name(i int) Value {
	if w.depends(i) {
		return w.named[i]
	}
	return w.folded(w.Values[i])
}

// step writes a step that depends on rows.
func (w *writing) step(s graph.Step) (err error) {
	ours, ok := s.Op.(op.Op)
	if ok {
		if _, takes := ours.Kernel.(op.TakeOp); takes { // the rows of a batch are all rows here
			w.named[s.Output] = w.named[s.Inputs[0]]
			return nil
		}
	}
	var in []Operand
	for _, i := range s.Inputs {
		v := Operand{Value: w.name(i), Shape: w.Values[i].Shape()}
		if !w.depends(i) {
			v.Constant = w.Values[i]
		}
		in = append(in, v)
	}
	switch {
	case !ok && op.IsSum(s.Op):
		w.named[s.Output] = w.Add(in[0].Value, in[1].Value)
	case !ok:
		return fmt.Errorf("onnx: the operation %v of Gorgonia's cannot be said in ONNX; use one of graph/op", s.Op)
	default:
		if w.named[s.Output], err = w.kernel(ours.Kernel, in); err != nil {
			return fmt.Errorf("onnx: %w", err)
		}
	}
	return nil
}

// kernel adds an operation: by its own method, or as it is written here.
func (g *Network) kernel(k op.Kernel, in []Operand) (Value, error) {
	if says, ok := k.(Kernel); ok {
		return says.ONNX(g, in)
	}
	if v := cmp.Or(g.written(k, in), g.writtenOfCodes(k, in)); v != "" {
		return v, nil
	}
	return "", fmt.Errorf("the operation %v cannot be said in ONNX; give it a method "+
		"ONNX(*onnx.Network, []onnx.Operand) (onnx.Value, error), or a case in graph/onnx/ops.go", op.Op{Kernel: k})
}

// Probe is how many rows a graph is built for. It is no width that a map has.
const Probe = 3

// folded is a value that depends on no row, as a constant.
func (g *Network) folded(v gorgonia.Value) string {
	if v.Dtype() == tensor.Int32 {
		var numbers []int64
		for _, x := range v.(*tensor.Dense).Int32s() {
			numbers = append(numbers, int64(x))
		}
		return Table(g, numbers, v.Shape()...)
	}
	return Table(g, graph.Float64s(v), v.Shape()...)
}

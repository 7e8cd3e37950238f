package op

import (
	"errors"
	"fmt"
	"hash"
	"hash/fnv"
	"strings"

	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// The types of Gorgonia that an op is written in.
type (
	Value = gorgonia.Value
	Node  = gorgonia.Node
	Nodes = gorgonia.Nodes
	Shape = tensor.Shape
)

// Op is one operation of a Gorgonia graph. Apply it with [gorgonia.ApplyOp] or,
// shorter, with graph.Builder.Apply.
type Op struct{ Kernel }

var (
	_ gorgonia.SDOp            = Op{}
	_ gorgonia.UsePreallocDoer = Op{}
)

// New is the op of a kernel, written here or anywhere else. It panics if the kernel is neither
// [Formed] nor [Shaped].
func New(k Kernel) Op {
	o := Op{k}
	o.Signature()
	return o
}

// Kernel is the part of an op that differs from op to op. It is also a [Formed] or a [Shaped].
// Its fields, printed, are part of the node's hash: two kernels that compute different
// things must print differently, so every number that matters is a field, and none is a pointer.
type Kernel interface {
	// Run computes out, whose memory holds anything, from in: in float32 and in float64,
	// whichever they are. See [Dispatch].
	Run(out Value, in []Value)
}

// Differentiable is a kernel with a derivative.
type Differentiable interface {
	Kernel
	// Grad gives ∂L/∂input from g = ∂L/∂output in terms of ops, see [Op.Of]: nil for inputs of
	// int32, and for inputs whose entry in WRT() []bool is false, if there is such a method.
	Grad(in Nodes, out, g *Node) Nodes
}

// partial is a kernel that is differentiated by some of its inputs alone.
type partial interface{ WRT() []bool }

// Signature gives the types of the inputs and, last, of the output.
func (o Op) Signature() []Kind {
	switch k := o.Kernel.(type) {
	case Shaped:
		return k.Signature()
	case Formed:
		if kinds := parse(k.Form()).kinds; kinds != nil {
			return kinds
		}
		panic(fmt.Sprintf("op: the form %q of %T has no -> between its inputs and its output", k.Form(), o.Kernel))
	}
	panic(fmt.Sprintf("op: %T needs a method Form, or Signature and Shape", o.Kernel))
}

// shape is that of the output.
func (o Op) shape(in []Shape) (s Shape, err error) {
	if k, ok := o.Kernel.(Shaped); ok {
		s, err = k.Shape(in)
	} else {
		s, err = Infer(o.Kernel.(Formed).Form(), in)
	}
	if err != nil {
		return nil, fmt.Errorf("op: %v of %v: %w", o, in, err)
	}
	return s, nil
}

// Arity is the number of inputs.
func (o Op) Arity() int { return len(o.Signature()) - 1 }

// Type is the Hindley–Milner signature that Gorgonia checks the inputs against.
func (o Op) Type() hm.Type {
	var ts []hm.Type
	for _, k := range o.Signature() {
		ts = append(ts, k.hmType())
	}
	return hm.NewFnType(ts...)
}

// InferShape gives the output's shape, or an error naming the op and the shapes.
func (o Op) InferShape(in ...gorgonia.DimSizer) (Shape, error) {
	shapes, err := gorgonia.DimSizersToShapes(in)
	if err != nil {
		return nil, err
	}
	return o.shape(shapes)
}

// Do computes the op into fresh memory.
func (o Op) Do(in ...Value) (Value, error) {
	shapes := make([]Shape, len(in))
	for i, v := range in {
		shapes[i] = v.Shape()
	}
	shape, err := o.shape(shapes)
	if err != nil {
		return nil, err
	}
	return o.UsePreallocDo(Zero(o.dtype(in), shape), in...)
}

// UsePreallocDo computes the op into out, a value of the inferred shape. A Run that reads a value
// as another type than it has is an error.
func (o Op) UsePreallocDo(out Value, in ...Value) (result Value, err error) {
	defer func() {
		if p := recover(); p != nil {
			wrong, ok := p.(wrongType)
			if !ok {
				panic(p)
			}
			err = fmt.Errorf("op: %v: Run takes a %v value for %v: write it for both float types, see IsFloat32", o, wrong.is, wrong.asked)
		}
	}()
	o.Run(out, in)
	return out, nil
}

// dtype is the output's element type: that of the first input of float type.
func (o Op) dtype(in []Value) tensor.Dtype {
	sig := o.Signature()
	if sig[len(sig)-1].Int {
		return tensor.Int32
	}
	for i, k := range sig[:len(in)] {
		if !k.Int {
			return in[i].Dtype()
		}
	}
	return tensor.Float64
}

// Zero is a zero of the given shape: a Gorgonia scalar for the empty shape, a
// dense tensor otherwise.
func Zero(dt tensor.Dtype, shape Shape) Value {
	switch {
	case len(shape) > 0:
		return tensor.New(tensor.Of(dt), tensor.WithShape(shape...))
	case dt == tensor.Float32:
		return gorgonia.NewF32(0)
	}
	return gorgonia.NewF64(0)
}

// DiffWRT is the inputs that the op can be differentiated by.
func (o Op) DiffWRT(int) []bool {
	by := make([]bool, o.Arity())
	if _, ok := o.Kernel.(Differentiable); !ok {
		return by
	}
	if k, ok := o.Kernel.(partial); ok {
		return k.WRT()
	}
	for i, k := range o.Signature()[:len(by)] {
		by[i] = !k.Int
	}
	return by
}

// SymDiff extends the graph by the op's gradient.
func (o Op) SymDiff(in Nodes, out, grad *Node) (grads Nodes, err error) {
	k, ok := o.Kernel.(Differentiable)
	if !ok {
		return nil, fmt.Errorf("op: %v has no derivative", o)
	}
	defer func() {
		if p := recover(); p != nil {
			failed, ok := p.(misapplied)
			if !ok {
				panic(p)
			}
			grads, err = nil, fmt.Errorf("op: %v: Grad: %w", o, failed.error)
		}
	}()
	grads = k.Grad(in, out, grad)
	if len(grads) != len(in) {
		return nil, fmt.Errorf("op: %v: Grad gives %d nodes for %d inputs: it must give one for each, nil where WRT is false", o, len(grads), len(in))
	}
	for i, asked := range o.DiffWRT(len(in)) {
		switch {
		case asked && grads[i] == nil:
			return nil, fmt.Errorf("op: %v: Grad gives no node for input %d, and WRT says that it has a derivative", o, i)
		case asked && !grads[i].Shape().Eq(in[i].Shape()):
			return nil, fmt.Errorf("op: %v: Grad gives input %d of shape %v a node of shape %v; the derivative by an input has its shape", o, i, in[i].Shape(), grads[i].Shape())
		}
	}
	return grads, nil
}

// Of is the op applied to nodes, within a Grad. Nodes that do not fit are an error of the
// derivative; elsewhere Of panics with it.
func (o Op) Of(in ...*Node) *Node {
	n, err := Apply(o, in...)
	if err != nil {
		panic(misapplied{err})
	}
	return n
}

// misapplied is the panic of [Op.Of].
type misapplied struct{ error }

// Apply is an op of nodes. Its error names in one sentence the input that does not fit an op of this package.
func Apply(o gorgonia.Op, in ...*Node) (*Node, error) {
	if ours, ok := o.(Op); ok {
		if err := ours.takes(in); err != nil {
			return nil, err
		}
	}
	return gorgonia.ApplyOp(o, in...)
}

// takes is an error where there are other inputs than the signature has, or of other types.
func (o Op) takes(in []*Node) error {
	want := o.Signature()
	if want = want[:len(want)-1]; len(in) != len(want) {
		return fmt.Errorf("op: %v takes %d inputs, not %d", o, len(want), len(in))
	}
	var float tensor.Dtype
	for i, n := range in {
		if n == nil {
			return fmt.Errorf("op: input %d of %v is no node", i, o)
		}
		is := Kind{n.Dims(), n.Dtype() == tensor.Int32}
		switch {
		case is != want[i]:
			var takes []string
			for _, k := range want {
				takes = append(takes, k.words())
			}
			return fmt.Errorf("op: input %d of %v is %s; it takes %s, in this order", i, o, is.words(), strings.Join(takes, ", "))
		case is.Int:
		case float.Type != nil && n.Dtype() != float:
			return fmt.Errorf("op: input %d of %v is %v and one before it %v; make tables in the type of the graph, as Builder.Dtype has it", i, o, n.Dtype(), float)
		default:
			float = n.Dtype()
		}
	}
	return nil
}

// ReturnsPtr: values are passed by reference.
func (o Op) ReturnsPtr() bool { return true }

// CallsExtern: no device of Gorgonia's is needed.
func (o Op) CallsExtern() bool { return false }

// OverwritesInput is −1: inputs stay as they are.
func (o Op) OverwritesInput() int { return -1 }

// String names the op and its settings; ops of equal strings are one op.
func (o Op) String() string { return fmt.Sprintf("%T%+v", o.Kernel, o.Kernel) }

func (o Op) WriteHash(h hash.Hash) { fmt.Fprint(h, o.String()) }

// Hashcode is the FNV-1a hash of String, by which Gorgonia distinguishes ops.
func (o Op) Hashcode() uint32 {
	h := fnv.New32a()
	o.WriteHash(h)
	return h.Sum32()
}

var errShapes = errors.New("the shapes do not fit")

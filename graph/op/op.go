package op

import (
	"errors"
	"fmt"
	"hash"
	"hash/fnv"
	"unsafe"

	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Op is one operation of a Gorgonia graph. Apply it with [gorgonia.ApplyOp] or,
// shorter, with graph.Builder.Apply.
type Op struct{ Kernel }

var (
	_ gorgonia.SDOp            = Op{}
	_ gorgonia.UsePreallocDoer = Op{}
)

// New is the op of a kernel, written here or anywhere else.
func New(k Kernel) Op { return Op{k} }

// Kernel is what one operation adds to the common frame. Its fields, printed, are part of the
// node's hash: two kernels that compute different things must print differently, so every
// number that matters is a field, and none is a pointer.
type Kernel interface {
	// Signature gives the types of the inputs and, last, of the output.
	Signature() []Kind
	// Shape infers the output's shape, or says which input does not fit.
	Shape(in []tensor.Shape) (tensor.Shape, error)
	// Run computes out, whose memory holds anything, from in: in float32 and in float64,
	// whichever they are. See [Values].
	Run(out gorgonia.Value, in []gorgonia.Value)
}

// Smooth is a kernel with a derivative.
type Smooth interface {
	Kernel
	// WRT tells which inputs the output can be differentiated by.
	WRT() []bool
	// Grad gives ∂L/∂input for those inputs (nil for the others) from
	// g = ∂L/∂output.
	Grad(in gorgonia.Nodes, out, g *gorgonia.Node) (gorgonia.Nodes, error)
}

// Kind is the type of a value: its number of dimensions and its elements.
type Kind struct {
	Dims  int
	Whole bool // int32 rather than the graph's float type
}

// The kinds that most ops take.
var (
	Scalar  = Kind{Dims: 0}
	Vector  = Kind{Dims: 1}
	Matrix  = Kind{Dims: 2}
	Indices = Kind{Dims: 1, Whole: true} // a label or row number per row
	Codes   = Kind{Dims: 2, Whole: true} // B×w codeword indices
	Images  = Kind{Dims: 4}              // N×C×H×W
)

func (k Kind) hmType() hm.Type {
	var of hm.Type = hm.TypeVariable('a')
	if k.Whole {
		of = tensor.Int32
	}
	if k.Dims == 0 {
		return of
	}
	return gorgonia.TensorType{Dims: k.Dims, Of: of}
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
func (o Op) InferShape(in ...gorgonia.DimSizer) (tensor.Shape, error) {
	shapes, err := gorgonia.DimSizersToShapes(in)
	if err != nil {
		return nil, err
	}
	s, err := o.Shape(shapes)
	if err != nil {
		return nil, fmt.Errorf("op: %v of %v: %w", o, shapes, err)
	}
	return s, nil
}

// Do computes the op into fresh memory.
func (o Op) Do(in ...gorgonia.Value) (gorgonia.Value, error) {
	shapes := make([]tensor.Shape, len(in))
	for i, v := range in {
		shapes[i] = v.Shape()
	}
	shape, err := o.Shape(shapes)
	if err != nil {
		return nil, fmt.Errorf("op: %v of %v: %w", o, shapes, err)
	}
	return o.UsePreallocDo(Zero(o.dtype(in), shape), in...)
}

// UsePreallocDo computes the op into out, a value of the inferred shape. A Run that reads a value
// as another type than it has is an error.
func (o Op) UsePreallocDo(out gorgonia.Value, in ...gorgonia.Value) (result gorgonia.Value, err error) {
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
func (o Op) dtype(in []gorgonia.Value) tensor.Dtype {
	sig := o.Signature()
	if sig[len(sig)-1].Whole {
		return tensor.Int32
	}
	for i, k := range sig[:len(in)] {
		if !k.Whole {
			return in[i].Dtype()
		}
	}
	return tensor.Float64
}

// Zero is a zero of the given shape: a Gorgonia scalar for the empty shape, a
// dense tensor otherwise.
func Zero(dt tensor.Dtype, shape tensor.Shape) gorgonia.Value {
	switch {
	case len(shape) > 0:
		return tensor.New(tensor.Of(dt), tensor.WithShape(shape...))
	case dt == tensor.Float32:
		return gorgonia.NewF32(0)
	}
	return gorgonia.NewF64(0)
}

// DiffWRT tells which inputs the op can be differentiated by.
func (o Op) DiffWRT(int) []bool {
	if s, ok := o.Kernel.(Smooth); ok {
		return s.WRT()
	}
	return make([]bool, o.Arity())
}

// SymDiff extends the graph by the op's gradient.
func (o Op) SymDiff(in gorgonia.Nodes, out, grad *gorgonia.Node) (gorgonia.Nodes, error) {
	s, ok := o.Kernel.(Smooth)
	if !ok {
		return nil, fmt.Errorf("op: %v has no derivative", o)
	}
	grads, err := s.Grad(in, out, grad)
	if err != nil {
		return nil, err
	}
	if len(grads) != len(in) {
		return nil, fmt.Errorf("op: %v: Grad gives %d nodes for %d inputs: it must give one for each, nil where WRT is false", o, len(grads), len(in))
	}
	for i, asked := range s.WRT() {
		if asked && grads[i] == nil {
			return nil, fmt.Errorf("op: %v: Grad gives no node for input %d, of which WRT says that it has a derivative", o, i)
		}
	}
	return grads, nil
}

// ReturnsPtr tells Gorgonia that values are passed by reference.
func (o Op) ReturnsPtr() bool { return true }

// CallsExtern tells Gorgonia that no device of its own is needed.
func (o Op) CallsExtern() bool { return false }

// OverwritesInput is −1: inputs stay as they are.
func (o Op) OverwritesInput() int { return -1 }

// String names the op and its settings; ops of equal strings are one op.
func (o Op) String() string { return fmt.Sprintf("%T%+v", o.Kernel, o.Kernel) }

// WriteHash writes String to h.
func (o Op) WriteHash(h hash.Hash) { fmt.Fprint(h, o.String()) }

// Hashcode is the FNV-1a hash of String, by which Gorgonia tells ops apart.
func (o Op) Hashcode() uint32 {
	h := fnv.New32a()
	o.WriteHash(h)
	return h.Sum32()
}

// Grads collects the gradients of one op: each call applies an op, and the first
// failure is kept.
type Grads struct{ Err error }

// Apply is o of in, or nil after a failure.
func (c *Grads) Apply(o Op, in ...*gorgonia.Node) *gorgonia.Node {
	if c.Err != nil {
		return nil
	}
	n, err := gorgonia.ApplyOp(o, in...)
	c.Err = err
	return n
}

// Float is the element type of a graph.
type Float interface{ float32 | float64 }

// IsFloat32 tells which of the two instances of a generic kernel to run.
func IsFloat32(v gorgonia.Value) bool { return v.Dtype() == tensor.Float32 }

// Values is the memory behind v, whose elements must be of type T. Unlike v.Data() it allocates
// nothing.
func Values[T Float | int32](v gorgonia.Value) []T {
	if asked := dtypeOf[T](); v.Dtype() != asked {
		panic(wrongType{v.Dtype(), asked})
	}
	switch v := v.(type) {
	case *tensor.Dense:
		return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(v.Uint8s()))), v.DataSize())
	case *gorgonia.F32:
		return unsafe.Slice((*T)(unsafe.Pointer(v)), 1)
	case *gorgonia.F64:
		return unsafe.Slice((*T)(unsafe.Pointer(v)), 1)
	}
	panic(fmt.Sprintf("op: a value of type %T is neither a dense tensor nor a float", v))
}

// wrongType is the panic of [Values] for a value of another type.
type wrongType struct{ is, asked tensor.Dtype }

func (w wrongType) String() string {
	return fmt.Sprintf("op: a %v value is taken for %v", w.is, w.asked)
}

func dtypeOf[T Float | int32]() tensor.Dtype {
	switch any(*new(T)).(type) {
	case float32:
		return tensor.Float32
	case float64:
		return tensor.Float64
	}
	return tensor.Int32
}

// columns is the last dimension of v.
func columns(v gorgonia.Value) int {
	s := v.Shape()
	return s[len(s)-1]
}

var (
	errShapes = errors.New("the shapes do not fit")
	errSlots  = errors.New("the number of features is no multiple of the codeword's width")
)

// SameShape is the shape rule of an op whose inputs all have one shape.
func SameShape(in []tensor.Shape) (tensor.Shape, error) {
	for _, s := range in[1:] {
		if !s.Eq(in[0]) {
			return nil, errShapes
		}
	}
	return in[0].Clone(), nil
}

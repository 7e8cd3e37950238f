package op

import (
	"errors"
	"fmt"
	"hash"
	"hash/fnv"
	"unsafe"

	"calibra/graph/cuda"

	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Op is one operation of a Gorgonia graph. Apply it with [gorgonia.ApplyOp] or,
// shorter, with graph.Builder.Apply.
type Op struct{ kernel }

var (
	_ gorgonia.SDOp            = Op{}
	_ gorgonia.UsePreallocDoer = Op{}
)

// kernel is what one operation adds to the common frame. Its fields, printed,
// are part of the node's hash: two kernels that compute different things must
// print differently.
type kernel interface {
	// signature gives the types of the inputs and, last, of the output.
	signature() []kind
	// shape infers the output's shape, or says which input does not fit.
	shape(in []tensor.Shape) (tensor.Shape, error)
	// run computes out, whose memory holds anything, from in.
	run(out gorgonia.Value, in []gorgonia.Value)
	// enqueue does the same on a device, in float32.
	enqueue(d *cuda.Device, out Operand, in []Operand)
}

// smooth is a kernel with a derivative.
type smooth interface {
	kernel
	// wrt tells which inputs the output can be differentiated by.
	wrt() []bool
	// grad gives ∂L/∂input for those inputs (nil for the others) from
	// g = ∂L/∂output.
	grad(in gorgonia.Nodes, out, g *gorgonia.Node) (gorgonia.Nodes, error)
}

// kind is the type of a value: its number of dimensions and its elements.
type kind struct {
	dims  int
	whole bool // int32 rather than the graph's float type
}

var (
	scalar  = kind{dims: 0}
	vector  = kind{dims: 1}
	matrix  = kind{dims: 2}
	indices = kind{dims: 1, whole: true} // a label or row number per row
	codes   = kind{dims: 2, whole: true} // B×w codeword indices
)

func (k kind) hmType() hm.Type {
	var of hm.Type = hm.TypeVariable('a')
	if k.whole {
		of = tensor.Int32
	}
	if k.dims == 0 {
		return of
	}
	return gorgonia.TensorType{Dims: k.dims, Of: of}
}

// Arity is the number of inputs.
func (o Op) Arity() int { return len(o.signature()) - 1 }

// Type is the Hindley–Milner signature that Gorgonia checks the inputs against.
func (o Op) Type() hm.Type {
	var ts []hm.Type
	for _, k := range o.signature() {
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
	s, err := o.shape(shapes)
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
	shape, err := o.shape(shapes)
	if err != nil {
		return nil, fmt.Errorf("op: %v of %v: %w", o, shapes, err)
	}
	return o.UsePreallocDo(Zero(o.dtype(in), shape), in...)
}

// UsePreallocDo computes the op into out, a value of the inferred shape.
func (o Op) UsePreallocDo(out gorgonia.Value, in ...gorgonia.Value) (gorgonia.Value, error) {
	o.run(out, in)
	return out, nil
}

// dtype is the output's element type: that of the first input of float type.
func (o Op) dtype(in []gorgonia.Value) tensor.Dtype {
	sig := o.signature()
	if sig[len(sig)-1].whole {
		return tensor.Int32
	}
	for i, k := range sig[:len(in)] {
		if !k.whole {
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
	if s, ok := o.kernel.(smooth); ok {
		return s.wrt()
	}
	return make([]bool, o.Arity())
}

// SymDiff extends the graph by the op's gradient.
func (o Op) SymDiff(in gorgonia.Nodes, out, grad *gorgonia.Node) (gorgonia.Nodes, error) {
	s, ok := o.kernel.(smooth)
	if !ok {
		return nil, fmt.Errorf("op: %v has no derivative", o)
	}
	return s.grad(in, out, grad)
}

// ReturnsPtr tells Gorgonia that values are passed by reference.
func (o Op) ReturnsPtr() bool { return true }

// CallsExtern tells Gorgonia that no device of its own is needed.
func (o Op) CallsExtern() bool { return false }

// OverwritesInput is −1: inputs stay as they are.
func (o Op) OverwritesInput() int { return -1 }

// String names the op and its settings; ops of equal strings are one op.
func (o Op) String() string { return fmt.Sprintf("%T%+v", o.kernel, o.kernel) }

// WriteHash writes String to h.
func (o Op) WriteHash(h hash.Hash) { fmt.Fprint(h, o.String()) }

// Hashcode is the FNV-1a hash of String, by which Gorgonia tells ops apart.
func (o Op) Hashcode() uint32 {
	h := fnv.New32a()
	o.WriteHash(h)
	return h.Sum32()
}

// grads collects the gradients of one op: each call applies an op, and the first
// failure is kept.
type grads struct{ err error }

func (c *grads) apply(o Op, in ...*gorgonia.Node) *gorgonia.Node {
	if c.err != nil {
		return nil
	}
	n, err := gorgonia.ApplyOp(o, in...)
	c.err = err
	return n
}

// float is the element type of a graph.
type float interface{ float32 | float64 }

// isFloat32 tells which of the two instances of a generic kernel to run.
func isFloat32(v gorgonia.Value) bool { return v.Dtype() == tensor.Float32 }

// values is the memory behind v. Unlike v.Data() it allocates nothing.
func values[T float | int32](v gorgonia.Value) []T {
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

// columns is the last dimension of v.
func columns(v gorgonia.Value) int {
	s := v.Shape()
	return s[len(s)-1]
}

var (
	errShapes = errors.New("the shapes do not fit")
	errSlots  = errors.New("the number of features is no multiple of the codeword's width")
)

// same is the shape rule of an op whose inputs all have one shape.
func same(in []tensor.Shape) (tensor.Shape, error) {
	for _, s := range in[1:] {
		if !s.Eq(in[0]) {
			return nil, errShapes
		}
	}
	return in[0].Clone(), nil
}

package graph

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Weights is an ordered set of named tensors of one float type. Names are paths,
// "bilinear/receiver". A weight is learned, or it is state that a graph updates
// without a gradient, such as the moving averages of a codebook, or exact: state that no
// graph reads and that stays in float64.
type Weights struct {
	dtype   tensor.Dtype
	names   []string
	tensors map[string]*tensor.Dense
	state   map[string]bool
	exact   map[string]bool
}

// NewWeights is an empty set for tensors of type dt, tensor.Float32 or
// tensor.Float64.
func NewWeights(dt tensor.Dtype) *Weights {
	return &Weights{dtype: dt, tensors: map[string]*tensor.Dense{}, state: map[string]bool{}, exact: map[string]bool{}}
}

// Add appends a learned weight with the given values, row by row. It panics if
// the name is taken, the shape has no elements or the number of values is not the shape's.
func (w *Weights) Add(name string, values []float64, shape ...int) {
	w.add(w.dtype, name, values, shape)
}

func (w *Weights) add(dt tensor.Dtype, name string, values []float64, shape tensor.Shape) {
	if _, taken := w.tensors[name]; taken {
		misused("weight %q is added twice", name)
	}
	if axis := slices.IndexFunc(shape, func(n int) bool { return n < 1 }); axis >= 0 {
		misused("weight %q has no %s: its shape is %v; give it at least one, or leave the weight out", name, [...]string{"rows", "columns", "elements"}[min(axis, 2)], shape)
	}
	if n := shape.TotalSize(); n != len(values) {
		misused("weight %q of shape %v is given %d values", name, shape, len(values))
	}
	w.put(name, Tensor(dt, values, shape...), false, false)
}

// put appends a tensor that is not there yet.
func (w *Weights) put(name string, t *tensor.Dense, state, exact bool) {
	w.names = append(w.names, name)
	w.tensors[name], w.state[name], w.exact[name] = t, state, exact
}

// AddState appends a weight without a gradient. It panics as Add does.
func (w *Weights) AddState(name string, values []float64, shape ...int) {
	w.Add(name, values, shape...)
	w.state[name] = true
}

// AddExact appends exact state. It panics as Add does.
func (w *Weights) AddExact(name string, values []float64, shape ...int) {
	w.add(tensor.Float64, name, values, shape)
	w.state[name], w.exact[name] = true, true
}

// Exact reports whether a weight is exact.
func (w *Weights) Exact(name string) bool { return w.exact[name] }

// Dtype is the float type of every weight but exact ones.
func (w *Weights) Dtype() tensor.Dtype {
	if w == nil {
		return tensor.Float64
	}
	return w.dtype
}

// Names lists all weights in the order of addition. Nil weights are none.
func (w *Weights) Names() []string {
	if w == nil {
		return nil
	}
	return slices.Clone(w.names)
}

// Learned lists the weights that have a gradient, in the order of addition.
func (w *Weights) Learned() []string {
	return slices.DeleteFunc(w.Names(), func(name string) bool { return w.state[name] })
}

// Has reports whether there is a weight of that name.
func (w *Weights) Has(name string) bool { return w != nil && w.tensors[name] != nil }

// owns reports whether v is one of the weights themselves.
func (w *Weights) owns(v gorgonia.Value) bool {
	t, is := v.(*tensor.Dense)
	return is && slices.ContainsFunc(w.names, func(name string) bool { return w.tensors[name] == t })
}

// Tensor is the weight itself, not a copy. It panics on an unknown name.
func (w *Weights) Tensor(name string) *tensor.Dense {
	if !w.Has(name) {
		misused("there is no weight %q among %s", name, strings.Join(w.Names(), ", "))
	}
	return w.tensors[name]
}

// Float64s is a copy of a weight's values in float64.
func (w *Weights) Float64s(name string) []float64 { return Float64s(w.Tensor(name)) }

// SetValues overwrites the values of a weight, whose memory stays where it is. It panics
// on an unknown name and another number of values.
func (w *Weights) SetValues(name string, values []float64) {
	t := w.Tensor(name)
	if err := tensor.Copy(t, Tensor(t.Dtype(), values, t.Shape()...)); err != nil {
		misused("weight %q: %v", name, err)
	}
}

func (w *Weights) Clone() *Weights { return w.As(w.dtype) }

// As is a deep copy in another float type.
func (w *Weights) As(dt tensor.Dtype) *Weights {
	c := NewWeights(dt)
	for _, name := range w.Names() {
		to := dt
		if w.exact[name] {
			to = tensor.Float64
		}
		c.add(to, name, w.Float64s(name), w.tensors[name].Shape())
		c.state[name], c.exact[name] = w.state[name], w.exact[name]
	}
	return c
}

// Set overwrites the values of w with the values of src, which must have the same names,
// shapes and float type; it panics otherwise. Memory stays where it is, so graphs
// that refer to w see the new values.
func (w *Weights) Set(src *Weights) {
	if !slices.Equal(w.names, src.names) {
		misused("weights %v are set from %v", w.names, src.names)
	}
	for _, name := range w.names {
		if err := tensor.Copy(w.tensors[name], src.Tensor(name)); err != nil {
			misused("weight %q: %v", name, err)
		}
	}
}

// Join appends all weights of others, sharing their memory. Those in float64 are exact among others in
// float32. It panics if a name is taken or a float32 is to be joined to float64.
func (w *Weights) Join(others ...*Weights) *Weights {
	for _, o := range others {
		for _, name := range o.names {
			t := o.tensors[name]
			if w.Has(name) || t.Dtype() != w.dtype && t.Dtype() != tensor.Float64 {
				misused("weight %q cannot be joined", name)
			}
			w.put(name, t, o.state[name], o.exact[name] || t.Dtype() != w.dtype)
		}
	}
	return w
}

// Require returns an error unless the weights have exactly the names and shapes of shapes.
func (w *Weights) Require(shapes map[string]tensor.Shape) error {
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		if !w.Has(name) {
			return fmt.Errorf("graph: weight %q is missing", name)
		}
		// not Shape.Eq, to which (4) and (1, 4) are one
		if got := w.tensors[name].Shape(); !slices.Equal(got, shapes[name]) {
			return fmt.Errorf("graph: weight %q has shape %v, not %v", name, got, shapes[name])
		}
	}
	for _, name := range w.Names() {
		if _, ok := shapes[name]; !ok {
			return fmt.Errorf("graph: weight %q is one too many", name)
		}
	}
	return nil
}

// Shapes are the shapes of all weights by name, as Require takes them.
func (w *Weights) Shapes() map[string]tensor.Shape {
	shapes := make(map[string]tensor.Shape, len(w.names))
	for name, t := range w.tensors {
		shapes[name] = t.Shape()
	}
	return shapes
}

// Size is the number of learned values.
func (w *Weights) Size() int {
	n := 0
	for _, name := range w.Learned() {
		n += w.tensors[name].DataSize()
	}
	return n
}

// Vector is the learned values in order, weight after weight, in float64; SetVector sets them.
func (w *Weights) Vector() (x []float64) {
	for _, name := range w.Learned() {
		x = append(x, w.Float64s(name)...)
	}
	return x
}

func (w *Weights) SetVector(x []float64) {
	for _, name := range w.Learned() {
		n := w.tensors[name].DataSize()
		w.SetValues(name, x[:n])
		x = x[n:]
	}
}

// Renamed are the same weights under other names, sharing their memory. It panics if two get one name.
func (w *Weights) Renamed(to func(name string) string) *Weights {
	out := NewWeights(w.dtype)
	for _, name := range w.names {
		if out.Has(to(name)) {
			misused("two weights are renamed to %q", to(name))
		}
		out.put(to(name), w.tensors[name], w.state[name], w.exact[name])
	}
	return out
}

// Split separates the weights whose names satisfy in from the others, sharing
// their memory.
func (w *Weights) Split(in func(name string) bool) (yes, no *Weights) {
	yes, no = NewWeights(w.Dtype()), NewWeights(w.Dtype())
	for _, name := range w.Names() {
		part := no
		if in(name) {
			part = yes
		}
		part.put(name, w.tensors[name], w.state[name], w.exact[name])
	}
	return yes, no
}

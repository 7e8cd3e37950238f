package graph

import (
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Tensor makes a dense tensor of type dt and the given shape from values, row by
// row; the zero dt is float64.
// It panics if the number of values is not the shape's, which [Recover] makes an error of a Map.
func Tensor(dt tensor.Dtype, values []float64, shape ...int) *tensor.Dense {
	if n := tensor.Shape(shape).TotalSize(); n != len(values) && len(shape) > 0 {
		misused("a tensor of shape %v is given %d values", shape, len(values))
	}
	if dt == (tensor.Dtype{}) {
		dt = tensor.Float64
	}
	t := tensor.New(tensor.Of(dt), tensor.WithShape(shape...))
	switch dt {
	case tensor.Float32:
		x := t.Float32s()
		for i, v := range values {
			x[i] = float32(v)
		}
	case tensor.Float64:
		copy(t.Float64s(), values)
	default:
		misused("tensors are float32 or float64, not %v", dt)
	}
	return t
}

// Matrix makes a tensor of type dt from a matrix; nil of none.
func Matrix(dt tensor.Dtype, m *mat.Dense) *tensor.Dense {
	if m == nil {
		return nil
	}
	raw := m.RawMatrix()
	if raw.Stride == raw.Cols {
		return Tensor(dt, raw.Data[:raw.Rows*raw.Cols], raw.Rows, raw.Cols)
	}
	return Matrix(dt, mat.DenseCopyOf(m))
}

// Labels makes an int32 vector, as the ops of labels and row numbers expect it.
func Labels(labels []int) *tensor.Dense {
	t := tensor.New(tensor.Of(tensor.Int32), tensor.WithShape(len(labels)))
	for i, y := range labels {
		t.Int32s()[i] = int32(y)
	}
	return t
}

// Codes makes an N×w int32 matrix of codeword indices, sharing the slice; nil of no slots.
func Codes(s []int32, w int) *tensor.Dense {
	if w <= 0 {
		return nil
	}
	return tensor.New(tensor.WithShape(len(s)/w, w), tensor.WithBacking(s))
}

// Float64s is a copy of a float value's elements in float64.
func Float64s(v gorgonia.Value) []float64 {
	switch v := v.(type) {
	case nil:
		return nil
	case *gorgonia.F32:
		return []float64{float64(*v)}
	case *gorgonia.F64:
		return []float64{float64(*v)}
	case *tensor.Dense:
		if v.Dtype() == tensor.Float64 {
			return append([]float64(nil), v.Float64s()...)
		}
		out := make([]float64, v.DataSize())
		for i, x := range v.Float32s() {
			out[i] = float64(x)
		}
		return out
	}
	misused("a value of type %T has no floats", v)
	return nil
}

// Rows lists the row numbers from lo to hi−1, as a step is fed with.
func Rows(lo, hi int) []int32 {
	rows := make([]int32, hi-lo)
	for i := range rows {
		rows[i] = int32(lo + i)
	}
	return rows
}

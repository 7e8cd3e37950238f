package op

import (
	"fmt"
	"slices"
	"sync"
	"unsafe"

	ours "calibra/graph/blas"

	"gonum.org/v1/gonum/blas"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Float is the element type of a graph.
type Float interface{ float32 | float64 }

// Dispatch runs the instance of a generic function of a kernel k that fits the values' type:
//
//	func (o ELUOp) Run(out Value, in []Value) { Dispatch(o, out, in, elu, elu) }
//
//	func elu[F Float](o ELUOp, v Args[F]) { … }
//
// It is named twice, once for each type; Go infers that the first is of float32 and the second of float64.
func Dispatch[K Kernel](k K, out Value, in []Value, single func(K, Args[float32]), double func(K, Args[float64])) {
	if floatType(out, in) == tensor.Float32 {
		single(k, Args[float32]{out, in})
	} else {
		double(k, Args[float64]{out, in})
	}
}

// floatType is the float type among the values.
func floatType(out Value, in []Value) tensor.Dtype {
	t := out.Dtype()
	for i := 0; t == tensor.Int32 && i < len(in); i++ {
		t = in[i].Dtype()
	}
	return t
}

// Args are the values of one run. F is the type of all values that are not int32.
type Args[F Float] struct {
	out Value
	in  []Value
}

// Out is the output's memory, and In the memory of input i, row by row.
func (v Args[F]) Out() []F     { return Values[F](v.out) }
func (v Args[F]) In(i int) []F { return Values[F](v.in[i]) }

// alongside is what Out is of its own value, all or some rows, of another with as many.
func (v Args[F]) alongside(other Value) []F {
	if r, some := v.out.(*Rows); some {
		return cut(Values[F](other), r)
	}
	return Values[F](other)
}

// OutInts and Ints are the same of int32.
func (v Args[F]) OutInts() []int32   { return Values[int32](v.out) }
func (v Args[F]) Ints(i int) []int32 { return Values[int32](v.in[i]) }

// OutShape and Shape are their shapes, and Columns is the last length of input i.
func (v Args[F]) OutShape() Shape   { return v.out.Shape() }
func (v Args[F]) Shape(i int) Shape { return v.in[i].Shape() }
func (v Args[F]) Columns(i int) int { return columns(v.in[i]) }

// columns is the last dimension of v.
func columns(v Value) int {
	s := v.Shape()
	return s[len(s)-1]
}

// pick is that of two functions which is of type T: one in float32, which package simd may have,
// and one in float64.
func pick[T any](single, double any) T {
	if f, ok := single.(T); ok {
		return f
	}
	return double.(T)
}

// IsFloat32 reports whether v is of float32, else float64 or int32.
func IsFloat32(v Value) bool { return v.Dtype() == tensor.Float32 }

// Values is the memory behind v, whose elements must be of type T. Unlike v.Data() it allocates
// nothing.
func Values[T Float | int32](v Value) []T {
	if asked := dtypeOf[T](); v.Dtype() != asked {
		panic(wrongType{v.Dtype(), asked})
	}
	switch v := v.(type) {
	case *Rows:
		return cut(Values[T](v.Value), v)
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

// rowBlock is how many rows of a matrix one thread works on at a time.
const rowBlock = 256

// few is how many numbers one thread works on sooner than it wakes another.
const few = 1 << 15

// gemm computes C = op(A)·op(B) + β·C, row-major, by the BLAS that is in use (package blas).
func gemm[F Float](tA, tB blas.Transpose, m, n, k int, a []F, lda int, b []F, ldb int, beta F, c []F, ldc int) {
	scaledGemm(1, tA, tB, m, n, k, a, lda, b, ldb, beta, c, ldc)
}

// scaledGemm computes C = α·op(A)·op(B) + β·C.
func scaledGemm[F Float](alpha F, tA, tB blas.Transpose, m, n, k int, a []F, lda int, b []F, ldb int, beta F, c []F, ldc int) {
	switch a := any(a).(type) {
	case []float32:
		ours.Current().Sgemm(tA, tB, m, n, k, float32(alpha), a, lda, any(b).([]float32), ldb, float32(beta), any(c).([]float32), ldc)
	case []float64:
		ours.Current().Dgemm(tA, tB, m, n, k, float64(alpha), a, lda, any(b).([]float64), ldb, float64(beta), any(c).([]float64), ldc)
	}
}

// dot is Σ x_i y_i, as package simd has it in float32.
func dot[F Float](x, y []F) F {
	var sum F
	y = y[:len(x)]
	for i, v := range x {
		sum += v * y[i]
	}
	return sum
}

// ByRow reports of each input whether the op needs only the rows of it that it computes, as its Form says. It is nil
// where the op needs all rows of every input.
func (o Op) ByRow() []bool {
	k, ok := o.Kernel.(Formed)
	if !ok {
		return nil
	}
	f := parse(k.Form())
	if f.by == "" {
		return nil
	}
	cut := make([]bool, len(f.axes)-1)
	for i := range cut {
		cut[i] = slices.Index(f.axes[i], f.by) == 0
	}
	return cut
}

// Rows is some rows of a value, as an input of an op or its output.
type Rows struct {
	Value  // all rows; another of this shape may take its place
	lo, hi int
	shape  Shape
}

// NewRows is rows lo … hi−1.
func NewRows(v Value, lo, hi int) *Rows {
	shape := v.Shape().Clone()
	shape[0] = hi - lo
	return &Rows{Value: v, lo: lo, hi: hi, shape: shape}
}

// Shape is the shape of these rows.
func (r *Rows) Shape() Shape { return r.shape }

// cut is those rows of the memory of a value.
func cut[T any](x []T, r *Rows) []T {
	width := len(x) / r.Value.Shape()[0]
	return x[r.lo*width : r.hi*width]
}

// scratch is memory borrowed for the time of one call, so that a step does not allocate.
type scratch[T Float | int32] struct{ values []T }

var scratch32, scratch64, scratchInts sync.Pool

// borrow gives n values that hold anything.
func borrow[T Float | int32](n int) *scratch[T] {
	s, ok := pool[T]().Get().(*scratch[T])
	if !ok {
		s = new(scratch[T])
	}
	if cap(s.values) < n {
		s.values = make([]T, n)
	}
	s.values = s.values[:n]
	return s
}

func (s *scratch[T]) back() { pool[T]().Put(s) }

func pool[T Float | int32]() *sync.Pool {
	switch any(*new(T)).(type) {
	case float32:
		return &scratch32
	case float64:
		return &scratch64
	}
	return &scratchInts
}

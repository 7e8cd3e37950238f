package layers

import (
	"fmt"
	"slices"
	"sync"

	"calibra/data"

	"gonum.org/v1/gonum/mat"
)

// shared are features that several calibrators read at once. Those that were fitted to the same rows take the same
// centre from them, and the same scale: what they make of that is made once.
type shared struct {
	mat.Matrix
	mutex sync.Mutex
	made  []made
}

var _ data.Rows = (*shared)(nil)

// made is a value, what it is and the numbers that it was made by.
type made struct {
	what  string
	by    [][]float64
	value any
}

// share is x with features that calibrators may share.
func share(x *data.Set) *data.Set {
	if x.Features == nil {
		return x
	}
	with := *x
	with.Features = &shared{Matrix: x.Features}
	return &with
}

// unshared are features as they were before share.
func unshared(x mat.Matrix) mat.Matrix {
	if s, ok := x.(*shared); ok {
		return s.Matrix
	}
	return x
}

func (s *shared) T() mat.Matrix { return mat.Transpose{Matrix: s} }

// Row writes row i to dst.
func (s *shared) Row(dst []float64, i int) { copy(dst, data.Row(s.Matrix, i, dst)) }

// Derived is a matrix that is made of another and of some numbers, such as its rows less their mean.
type Derived interface {
	mat.Matrix
	// From is the other matrix, and the numbers.
	From() (x mat.Matrix, by [][]float64)
}

// once is what build makes of x and of more numbers. Where x is derived from shared features, it is made once for all
// that derive the same of them.
func once[T any](x mat.Matrix, what string, build func() T, more ...[]float64) T {
	d, ok := x.(Derived)
	if !ok {
		return build()
	}
	from, by := d.From()
	s, ok := from.(*shared)
	if !ok {
		return build()
	}
	what, by = fmt.Sprintf("%s of %T", what, x), slices.Concat(by, more)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, m := range s.made {
		if m.what == what && slices.EqualFunc(m.by, by, slices.Equal[[]float64]) {
			return m.value.(T)
		}
	}
	value := build()
	s.made = append(s.made, made{what, by, value})
	return value
}

package op

import "sync"

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

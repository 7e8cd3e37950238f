package metrics

import "math"

// ids are whole numbers from 0 on, such as labels, in as few bytes as the largest needs.
type ids interface {
	set(i int, v int32)
	at(i int) int32
	// slice writes the numbers from lo on to dst.
	slice(dst []int32, lo int) []int32
	// all are the n numbers.
	all(n int) []int32
}

// idsIn are ids of one size.
type idsIn[T uint8 | uint16 | int32] []T

// newIDs are n zeros with room for numbers below most.
func newIDs(n, most int) ids {
	switch {
	case most <= math.MaxUint8+1:
		return make(idsIn[uint8], n)
	case most <= math.MaxUint16+1:
		return make(idsIn[uint16], n)
	}
	return make(idsIn[int32], n)
}

// idsOf are the numbers of x, below most.
func idsOf(x []int32, most int) ids {
	out := newIDs(len(x), most)
	for i, v := range x {
		out.set(i, v)
	}
	return out
}

func (x idsIn[T]) set(i int, v int32) { x[i] = T(v) }

func (x idsIn[T]) at(i int) int32 { return int32(x[i]) }

func (x idsIn[T]) slice(dst []int32, lo int) []int32 {
	for k, v := range x[lo : lo+len(dst)] {
		dst[k] = int32(v)
	}
	return dst
}

func (x idsIn[T]) all(n int) []int32 { return x.slice(make([]int32, n), 0) }

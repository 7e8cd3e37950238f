package metrics

import "math"

// ids are whole numbers from 0 on, such as labels, in as few bytes as the largest needs.
type ids struct {
	bytes []uint8 // one of the three is there
	words []uint16
	wide  []int32
}

// newIDs are n zeros with room for numbers below most.
func newIDs(n, most int) ids {
	switch {
	case most <= math.MaxUint8+1:
		return ids{bytes: make([]uint8, n)}
	case most <= math.MaxUint16+1:
		return ids{words: make([]uint16, n)}
	}
	return ids{wide: make([]int32, n)}
}

// idsOf are the numbers of x, below most.
func idsOf(x []int32, most int) ids {
	out := newIDs(len(x), most)
	for i, v := range x {
		out.set(i, v)
	}
	return out
}

func (x ids) set(i int, v int32) {
	switch {
	case x.bytes != nil:
		x.bytes[i] = uint8(v)
	case x.words != nil:
		x.words[i] = uint16(v)
	default:
		x.wide[i] = v
	}
}

func (x ids) at(i int) int32 {
	switch {
	case x.bytes != nil:
		return int32(x.bytes[i])
	case x.words != nil:
		return int32(x.words[i])
	}
	return x.wide[i]
}

// slice writes the numbers from lo on to dst.
func (x ids) slice(dst []int32, lo int) []int32 {
	switch {
	case x.bytes != nil:
		for k, v := range x.bytes[lo : lo+len(dst)] {
			dst[k] = int32(v)
		}
	case x.words != nil:
		for k, v := range x.words[lo : lo+len(dst)] {
			dst[k] = int32(v)
		}
	default:
		copy(dst, x.wide[lo:])
	}
	return dst
}

// all are the n numbers.
func (x ids) all(n int) []int32 { return x.slice(make([]int32, n), 0) }

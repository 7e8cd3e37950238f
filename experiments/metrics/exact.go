package metrics

import (
	"math"
	"math/bits"
)

// exact is a sum in units of 2⁻⁵² (2.2e-16, the distance of float64 numbers at 1), kept in
// 128 bits: it has the same bits in whatever order and parts its terms are added, and
// 2⁶⁰ rows fit.
type exact struct {
	Hi int64
	Lo uint64
}

const unitsPerOne = 1 << 52

// units are x, of magnitude below 2¹¹, in units of exact.
func units(x float64) int64 { return int64(math.RoundToEven(x * unitsPerOne)) }

func (s *exact) add(units int64) {
	var carry uint64
	s.Lo, carry = bits.Add64(s.Lo, uint64(units), 0)
	s.Hi += units>>63 + int64(carry)
}

func (s *exact) merge(t exact) {
	var carry uint64
	s.Lo, carry = bits.Add64(s.Lo, t.Lo, 0)
	s.Hi += t.Hi + int64(carry)
}

// less is s − n.
func (s exact) less(n int64) exact {
	high, low := bits.Mul64(uint64(n), unitsPerOne) // n ≥ 0
	var borrow uint64
	s.Lo, borrow = bits.Sub64(s.Lo, low, 0)
	s.Hi -= int64(high) + int64(borrow)
	return s
}

func (s exact) float() float64 {
	if s.Hi < 0 {
		var borrow uint64
		s.Lo, borrow = bits.Sub64(0, s.Lo, 0)
		return -exact{-s.Hi - int64(borrow), s.Lo}.float()
	}
	return math.Ldexp(float64(s.Hi), 64-52) + math.Ldexp(float64(s.Lo), -52)
}

func mergeExact(into, from []exact) {
	for i := range into {
		into[i].merge(from[i])
	}
}

func mergeCounts(into, from []int64) {
	for i := range into {
		into[i] += from[i]
	}
}

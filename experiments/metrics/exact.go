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

// exactly is x, of magnitude below 2⁷⁴, in units of exact.
func exactly(x float64) exact {
	if x < 0 {
		return exact{}.less(exactly(-x))
	}
	const whole = 1 << 64
	units := math.RoundToEven(x * unitsPerOne)
	high := math.Floor(units / whole)
	return exact{int64(high), uint64(units - high*whole)}
}

// add adds t so many times.
func (s *exact) add(t exact, times int) {
	for range times {
		s.merge(t)
	}
}

func (s *exact) merge(t exact) {
	var carry uint64
	s.Lo, carry = bits.Add64(s.Lo, t.Lo, 0)
	s.Hi += t.Hi + int64(carry)
}

// less is s − t.
func (s exact) less(t exact) exact {
	var borrow uint64
	s.Lo, borrow = bits.Sub64(s.Lo, t.Lo, 0)
	s.Hi -= t.Hi + int64(borrow)
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

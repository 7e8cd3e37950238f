package simd

import (
	"math"
	"math/bits"
)

// pairScreen is a codebook for processors that multiply pairs of 16-bit integers twice as fast as float32 (VNNI).
// Scores x·c − ½|c|², the greatest of which is that of the nearest codeword, are computed from x′ ≈ σx and c′ ≈ γc,
// rounded to integers, with a scale γ of all codewords and σ of each slot. With X = |x|, Y = max |c|, and an integer f
// of 15 bits,
//
//	σ = f·step ≈ R / max(X, Y),   γ ≈ R / Y,   R = 2¹⁵ − 64,
//	t = Σ x′c′ − (f·h + ⌊f/2⁸⌋·h′),   h + h′/2⁸ ≈ ½|c|²·step·γ .
//
// The half norm is thus one more pair of products. Sums are exact and do not overflow: by Cauchy and Schwarz
// |Σ x′c′| ≤ 2³⁰, |x′| and |c′| being below 2¹⁵, and f·h ≤ 2²⁹.
//
// How far t is from σγ(x·c − ½|c|²), with u = 2⁻²⁴:
//
//   - Rounding of numbers. X², of d/4 + 5 roundings, is off by 2⁻¹⁴ of it at most where d ≤ 2¹², and a reciprocal root
//     by 2⁻¹⁴, so |σx| ≤ R(1 + 2⁻¹³). A number of x′ is off by ½ + 2⁻⁹ at most, 2⁻⁹ being u of σx in float32, so
//     |x′| ≤ R(1 + 2⁻¹³) + (½ + 2⁻⁹)√d < 2¹⁵. The same holds for c′. The absolute values of d numbers add up to √d
//     times their length at most, so
//     x′·c′ − σγx·c = (x′ − σx)·c′ + σx·(c′ − γc) is at most (½ + 2⁻⁹)√d(2¹⁵ + 2¹⁵) = (1 + 2⁻⁸)√d·2¹⁵.
//   - The half norm. With f = 2⁸q + r and ρ = ½|c|²·step·γ − h, fρ − qh′ = q(2⁸ρ − h′) + rρ is at most 2⁷/2 + 2⁸/2;
//     rounding of ½|c|² and of σ is u of 2²⁹ each. All are 2⁸ at most.
//   - The index written into the last b digits moves two scores apart by less than 2^b.
//   - A centre a that is subtracted in float32. Its own rounding, that of the difference and that of z, the slot of the
//     exact search, are 2u(|z| + |a|) at most, which |a| ≤ 2⁶Y makes 2u(2¹⁵ + 2²¹)2¹⁵ < 2¹⁴.
//
// Thus a limit 2(1 + 2⁻⁸)√d·2¹⁵ + 2⁹ + 2^b, 2¹⁵ more with a centre, and 2 for its own rounding and that of distances in
// float64. A slot that is not finite, or so long that f = 0, is searched again. A codebook whose Y is not finite or
// near the least or the largest float32 has no screen.
type pairScreen struct {
	depth              int // rows of pairs: the half norms, then two numbers each
	words              []uint32
	index              []uint32 // of each codeword, below all scores behind the last
	most, square, step float32  // f = ⌊most/max(X, Y)⌋, square ≥ Y²
	mask, limit        uint32
}

const (
	mostFactor = 1<<15 - 8  // f is this, or 2⁻¹⁴ more, where X ≤ Y
	reach      = 1<<15 - 64 // R
	mostLength = 0x1p60
	mostShift  = 1 << 6  // times Y, that the centre of a row is long at most
	shiftLimit = 1 << 15 // what it adds to the limit
	// A score is at least −2³⁰ − 2²⁹.
	noPair = 1 << 31
)

// set prepares the screen of a codebook that is prepared otherwise, or returns false.
func (s *pairScreen) set(c *Codebook, words []float32) bool {
	y, h := c.long, wordsAtATime()
	if !(y > 1/mostLength && y < mostLength) {
		return false
	}
	s.most, s.step = float32(mostFactor*y), float32(reach/(mostFactor*y))
	s.square = float32(y * y * (1 + 0x1p-12)) // above all that is computed of |c|², so that γ is the same
	s.depth = 1 + ceil(c.d, 2)
	s.words, s.index = resizeAligned(s.words, len(c.half)*s.depth), resizeAligned(s.index, len(c.half))
	m := screens.Get().(*screenMemory)
	m.reserve(c)
	for j := 0; j < c.k; j += tileSide {
		some := words[j*c.d:]
		if c.k-j < tileSide {
			clear(m.again[copy(m.again, some):])
			some = m.again
		}
		m.from[0] = &some[0]
		m.quantize(0, 1, c)
		for at := j; at < min(j+tileSide, len(c.half)); at += h {
			for l := 1; l < s.depth; l++ {
				copy(s.words[at*s.depth+l*h:][:h], m.pairs.slots[l*mostAtATime+at-j:])
			}
		}
	}
	m.from[0] = nil
	scale := float64(s.step) * float64(m.pairs.rough[0])
	screens.Put(m)
	for j, half := range c.half[:c.k] {
		n := float64(half) * scale
		high := math.RoundToEven(n)
		low := math.RoundToEven((n - high) * 0x1p8)
		s.words[j/h*h*s.depth+j%h] = uint32(uint16(-int(high))) | uint32(-int(low))<<16
		s.index[j] = uint32(j)
	}
	for j := c.k; j < len(s.index); j++ {
		s.index[j] = noPair
	}
	marks := bits.Len(uint(c.k - 1))
	s.mask = ^uint32(0) << marks
	s.limit = uint32(2*(1+0x1p-8)*math.Sqrt(float64(c.d))*0x1p15) + 1<<9 + 1<<marks + 2
	return true
}

// pairMemory is what a search of pairs needs.
type pairMemory struct {
	slots []uint32  // rows of pairs of 32 slots
	rough []float32 // the slots before they are rounded
}

func (p *pairMemory) reserve(c *Codebook) {
	quads := ceil(c.d, 4)
	if n := mostAtATime * (1 + 2*quads); len(p.slots) < n {
		p.slots = resizeAligned(p.slots, n)
	}
	if n := mostAtATime * (1 + 4*quads); len(p.rough) < n {
		p.rough = resizeAligned(p.rough, n)
	}
}

// quantize writes the slots of n of the groups that wait, from g on.
func (m *screenMemory) quantize(g, n int, c *Codebook) {
	s, p := &c.screen.pairs, &m.pairs
	sets[isa].quantizeSlots(&p.slots[0], &p.rough[0], &m.from[g], c.d, n, s.most, s.square, s.step)
}

// findPairs finds the codes of the groups that wait, two at a time.
func (m *screenMemory) findPairs(s *nearestSearch) {
	c, p := s.c, &s.c.screen.pairs
	limit, groups := p.limit, len(c.half)/wordsAtATime()
	if s.centre != nil {
		limit += shiftLimit
	}
	for g := 0; g < m.waits; g += 2 {
		m.quantize(g, min(2, m.waits-g), c)
		sets[isa].nearestPairs(&m.found[g*tileSide], &m.unsure[g], &m.pairs.slots[0], &p.words[0], &p.index[0],
			groups, p.depth, p.mask, limit, &m.from[g+2], ceil(c.d, groups))
	}
}

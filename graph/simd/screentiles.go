package simd

import (
	"math"
	"math/bits"
	"slices"
)

// tileScreen is a codebook for processors that multiply tiles of bfloat16 (AMX). The scores ½|c|² − x·c are computed
// from
//
//	x ≈ xₕ + xₗ,  c ≈ cₕ + cₗ,   x·c ≈ xₕ·cₕ + xₕ·cₗ + xₗ·cₕ
//
// with xₕ, xₗ, cₕ and cₗ in bfloat16, as one product three times as deep.
//
// The bound, with u = 2⁻²⁴, X = |x|, Y = max |c| and H = max ½|c|². By Cauchy and Schwarz Σ|x_l||c_l| ≤ XY.
//
//   - What the parts leave out. bfloat16 has 8 digits. Rounded to nearest, |x − xₕ| ≤ 2⁻⁸|x| entry by entry; x − xₕ is
//     exact, and cut to 8 digits leaves at most 2⁻¹⁵|x|. Codewords are rounded twice, which leaves at most 2⁻¹⁶|c|. So
//     x·c − (xₕ·cₕ + xₕ·cₗ + xₗ·cₕ) = (x − xₕ − xₗ)·c + xₗ·(c − cₕ) + xₕ·(c − cₕ − cₗ)
//     is at most (2⁻¹⁵ + 2⁻¹⁶ + 2⁻¹⁶)(1 + 2⁻⁷) XY.
//   - Rounding of the tiles' sums. A tile adds 16 pairs in two sums, one to the other and both to what there was: 34
//     roundings a tile at most, each of at most u times the sum of the absolute values, H + 1.02 XY.
//   - The index written into the last b digits of a score: 2^(b−23) of H + 1.02 XY at most.
//   - Rounding of ½|c|²: uH at most.
//   - Tiles take subnormal numbers for zero, as entries and as results: at most 2⁻¹²⁶ a time, (X + Y + 1) 2⁻¹⁰⁰ in all.
//
// Thus a limit slope·X + offset for each slot. An X that overflows or is not a number makes the limit so, and no
// comparison with it holds. A codebook of which that could be said has no screen.
type tileScreen struct {
	depth, blocks int      // tiles of features and of codewords
	words         []uint32 // −cₕ, −cₗ and −cₕ, a row for each codeword, in tiles
	half          []float32
	line          []uint32 // a codeword's row in all tiles, with zeros behind it
	marks         int      // digits of a score that hold an index
	slope, offset float32
}

const (
	tileSide    = 16  // slots or codewords in a tile
	tileEntries = 256 // words of 32 bits in a tile
	mostNorm    = 0x1p60
	// above all scores, yet finite
	noWord = 0x1p127
)

// indices are those that scores are marked with.
var indices = func() (x [mostWords]int32) {
	for i := range x {
		x[i] = int32(i)
	}
	return x
}()

// set prepares the screen of a codebook that is prepared otherwise, or returns false.
func (s *tileScreen) set(c *Codebook, words []float32) bool {
	greatest := slices.Max(c.half[:c.k])
	if !(greatest < mostNorm) {
		return false
	}
	pairs := 2 * ceil(c.d, 4)
	s.depth, s.blocks = ceil(3*pairs, tileSide), ceil(c.k, tileSide)
	s.words = resizeAligned(s.words, s.depth*s.blocks*tileEntries)
	s.half = resizeAligned(s.half, s.blocks*tileEntries)
	s.line = resizeAligned(s.line, s.depth*tileSide)
	for j := range s.blocks * tileSide {
		h := float32(noWord)
		if j < c.k {
			h = c.half[j]
			s.place(j, pairs, words[j*c.d:(j+1)*c.d])
		}
		row := s.half[j*tileSide : (j+1)*tileSide]
		for i := range row {
			row[i] = h
		}
	}
	s.limit(float64(greatest))
	return true
}

// place writes codeword j: tiles of four blocks of codewords lie side by side, then the next deeper ones; the
// blocks behind the last four lie alone.
func (s *tileScreen) place(j, pairs int, word []float32) {
	high, low := s.line[:pairs], s.line[pairs:2*pairs]
	for i := range len(word) / 2 {
		high0, low0 := split(-word[2*i])
		high1, low1 := split(-word[2*i+1])
		high[i], low[i] = high0|high1<<16, low0|low1<<16
	}
	if last := len(word) - 1; last%2 == 0 {
		high[last/2], low[last/2] = split(-word[last])
	}
	copy(s.line[2*pairs:], high)
	block, apart := j/tileSide, 1
	at := block * s.depth
	if block < s.blocks/4*4 {
		apart = 4
		at = block/4*4*s.depth + block%4
	}
	for t := range s.depth {
		copy(s.words[(at+t*apart)*tileEntries+j%tileSide*tileSide:][:tileSide], s.line[t*tileSide:])
	}
}

// split rounds x to bfloat16, and what is left.
func split(x float32) (high, low uint32) {
	high = round(x)
	return high, round(x - math.Float32frombits(high<<16))
}

// round is x in bfloat16, to nearest.
func round(x float32) uint32 { return (math.Float32bits(x) + 0x8000) >> 16 }

// limit computes slope and offset, twice the bound above and a fortieth more, for the rounding of both, of |x| and of
// the difference.
func (s *tileScreen) limit(h float64) {
	const u, tiny = 0x1p-24, 0x1p-100
	y := math.Sqrt(2*h) * 1.001
	s.marks = bits.Len(uint(s.blocks*tileSide - 1))
	sums := math.Ldexp(1, s.marks-23) + 34*float64(s.depth)*u
	slope := y*(4*0x1p-16*(1+0x1p-7)+1.02*sums) + tiny
	offset := h*(sums+u) + (y+1)*tiny
	s.slope, s.offset = float32(2.05*slope), float32(2.05*offset)
}

// screenJob is the screening of some groups of sixteen slots: pointers into the memory of the search and the codebook.
type screenJob struct {
	from          **float32 // the first slot of each group, the others behind it; four more groups are only fetched
	groups, d     int
	slope, offset float32
	slots, scores *float32 // tiles of as many groups as are screened at a time
	limit         *float32
	half          *float32
	words         *uint32
	depth, blocks int
	codes         *int32  // of the least scores, sixteen a group
	unsure        *uint16 // a bit for each slot whose second least score is within the limit
	index         *int32
	mask          uint32 // the bits of a score that do not hold an index
}

// screenAtATime is how many groups have tiles that stay in the first-level cache together.
const screenAtATime = 4

// tileMemory is what a search in tiles needs.
type tileMemory struct {
	job    screenJob
	limit  [screenAtATime * tileSide]float32
	slots  []float32
	deep   int // numbers in the slots that were in slots last
	scores []float32
}

// reserve makes t ready for a search. Rows of tiles behind the last pair of features stay zero.
func (t *tileMemory) reserve(m *screenMemory, c *Codebook) {
	s := &c.screen.tiles
	if t.deep != c.d {
		t.deep = c.d
		t.slots = resizeAligned(t.slots, screenAtATime*s.depth*tileEntries)
	}
	if n := screenAtATime * s.blocks * tileEntries; len(t.scores) < n {
		t.scores = resizeAligned(t.scores, n)
	}
	t.job = screenJob{
		from: &m.from[0], d: c.d, slope: s.slope, offset: s.offset,
		slots: &t.slots[0], scores: &t.scores[0], limit: &t.limit[0],
		half: &s.half[0], words: &s.words[0], depth: s.depth, blocks: s.blocks,
		codes: &m.found[0], unsure: &m.unsure[0], index: &indices[0], mask: ^uint32(0) << s.marks,
	}
}

// find finds the codes of so many groups, as [screenMemory.find] has them.
func (t *tileMemory) find(groups int) {
	t.job.groups = groups
	sets[isa].screenTiles(&t.job)
}

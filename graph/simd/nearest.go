package simd

import (
	"fmt"
	"math"
	"sync"

	"calibra/graph/work"
)

// Codebook is a codebook prepared for nearest-codeword search: the K codewords turned for the kernel, and half their
// squared norms. The zero value is empty; Set fills it, and fills it again without allocating. Between calls of Set
// it may be read by many goroutines.
type Codebook struct {
	k, d        int
	turned      []float32 // groups of wordsAtATime codewords, as the columns of d rows; zeros behind the last
	half        []float32 // ½|c_k|², +∞ behind the last
	short, long float64   // the least and the largest |c_k|
	screen      screen
}

// Set prepares the k codewords of words, k×d. It panics if words has another length.
func (c *Codebook) Set(words []float32, k, d int) {
	if k <= 0 || d <= 0 || len(words) != k*d {
		panic(fmt.Sprintf("simd: a codebook of %d×%d from %d numbers", k, d, len(words)))
	}
	c.k, c.d = k, d
	h := wordsAtATime()
	padded := ceil(k, h) * h
	c.turned, c.half = resize(c.turned, padded*d), resize(c.half, padded)
	for j := range c.half {
		c.half[j] = float32(math.Inf(1))
	}
	least, most := math.Inf(1), 0.0
	for j := range k {
		var norm float64
		to := c.column(j)
		for l, x := range words[j*d : (j+1)*d] {
			to[l*h] = x
			norm += float64(x) * float64(x)
		}
		c.half[j] = float32(norm / 2)
		least, most = min(least, norm), max(most, norm)
	}
	c.short, c.long = math.Sqrt(least), math.Sqrt(most)
	c.screen.set(c, words)
}

// column begins with the first number of codeword j; the others follow, wordsAtATime apart.
func (c *Codebook) column(j int) []float32 {
	h := wordsAtATime()
	return c.turned[j/h*h*c.d+j%h:]
}

// resize returns n zeros, in x if they fit.
func resize[T any](x []T, n int) []T {
	if cap(x) < n {
		return make([]T, n)
	}
	x = x[:n]
	clear(x)
	return x
}

// NearestRows writes to codes the index of the codeword nearest to each row of x,
// n×d with n = len(codes):
//
//	argmin_k Σ_l (x_il − c_kl)² ,
//
// in float64, the first index among equals; 0 for a row that is not a number. Products in
// float32, ½|c_k|² − x_i·c_k, find it where rounding cannot have decided. The products never
// leave the cache. Rows are shared among Threads threads in fixed blocks, and the
// codes do not depend on their number. It panics if x has another length.
func NearestRows(codes []int32, x []float32, c *Codebook) {
	if c.k == 0 || len(x) != len(codes)*c.d {
		panic(fmt.Sprintf("simd: %d codes of %d numbers with a codebook of %d×%d", len(codes), len(x), c.k, c.d))
	}
	search(nearestSearch{codes: codes, x: x, group: max(1, len(codes)), c: c})
}

// NearestCentred is NearestRows of features less a centre, subtracted in float64 and then rounded: features is N×M, the
// centre M, a multiple of d, and each row has M/d codes. It panics if the lengths disagree.
func NearestCentred(codes []int32, features []float32, centre []float64, c *Codebook) {
	if c.k == 0 || len(centre) == 0 || len(centre)%c.d != 0 || len(features)%len(centre) != 0 || len(features) != len(codes)*c.d {
		panic(fmt.Sprintf("simd: %d codes of %d numbers with a centre of %d and a codebook of %d×%d", len(codes), len(features), len(centre), c.k, c.d))
	}
	search(nearestSearch{codes: codes, x: features, centre: centre, group: len(centre) / c.d, c: c})
}

// NearestGathered is NearestRows of some rows of a feature matrix, read in place:
// features is N×(w·d) with w = width/d, and the w codes of row rows[b] are written to
// codes[b·w:]. It panics if the lengths disagree or a row lies outside features.
func NearestGathered(codes []int32, features []float32, rows []int32, width int, c *Codebook) {
	if c.k == 0 || width <= 0 || width%c.d != 0 || len(codes) != len(rows)*(width/c.d) {
		panic(fmt.Sprintf("simd: %d codes of %d rows of %d with a codebook of %d×%d", len(codes), len(rows), width, c.k, c.d))
	}
	for _, r := range rows {
		if r < 0 || (int(r)+1)*width > len(features) {
			panic(fmt.Sprintf("simd: row %d of a matrix of %d rows", r, len(features)/width))
		}
	}
	search(nearestSearch{codes: codes, x: features, rows: rows, group: width / c.d, c: c})
}

// search cuts the codes into blocks.
func search(s nearestSearch) {
	// blocks of some 2²⁰ multiplications, what waking a thread costs; a screen does twice as many meanwhile, and
	// the slots of a long block that it leaves to the exact search fill tiles there
	tiles := 1 << 20 / (s.c.d * len(s.c.half) * mostAtATime)
	if s.c.screen.on {
		tiles = max(2*tiles, min(64, len(s.codes)/(4*work.Threads()*mostAtATime)))
	}
	s.perBlock = max(1, tiles) * mostAtATime
	if s.rows != nil {
		s.perBlock = max(1, s.perBlock/s.group) * s.group
	}
	searches.Run(ceil(len(s.codes), s.perBlock), s)
}

// nearestSearch is one search in flight.
type nearestSearch struct {
	codes    []int32
	x        []float32
	centre   []float64 // of a row; nil: 0
	rows     []int32   // of x; nil: all
	group    int       // slots of a row
	c        *Codebook
	perBlock int
}

var searches work.Jobs[nearestSearch, *nearestSearch]

func (s *nearestSearch) Block(i int) {
	lo := i * s.perBlock
	hi := min(lo+s.perBlock, len(s.codes))
	if s.c.screen.on {
		m := screens.Get().(*screenMemory)
		found := m.search(s, lo, hi)
		screens.Put(m)
		if found {
			return
		}
	}
	s.compare(lo, hi)
}

// run is where slot lo begins in x, and how many slots from there on, before slot hi, lie one behind the other.
func (s *nearestSearch) run(lo, hi int) (from, n int) {
	row, slot := lo/s.group, lo%s.group
	if s.rows != nil {
		row = int(s.rows[row])
	}
	return (row*s.group + slot) * s.c.d, min(hi-lo, s.group-slot)
}

// copySlots copies slots, less their centre, to z.
func (s *nearestSearch) copySlots(z []float32, lo, hi int) {
	d := s.c.d
	for lo < hi {
		from, n := s.run(lo, hi)
		if s.centre != nil {
			lessKernel(z[:n*d], s.x[from:from+n*d], s.centre[lo%s.group*d:][:n*d])
		} else {
			copy(z, s.x[from:from+n*d])
		}
		lo, z = lo+n, z[n*d:]
	}
}

// compare finds the codes of slots on the calling goroutine.
func (s *nearestSearch) compare(lo, hi int) {
	t := slotTiles.Get().(*slotTile)
	wide, d := slotsAtATime(), s.c.d
	t.reserve(s.c)
	for ; lo < hi; lo += wide {
		n := min(wide, hi-lo)
		from, together := s.run(lo, hi)
		x := s.x[from:]
		if together < wide || s.centre != nil || d%(wide/2) != 0 {
			s.copySlots(t.z, lo, lo+n)
			x = t.z
		}
		next, lines := from, 0
		if lo+wide < hi {
			next, together = s.run(lo+wide, hi)
			lines = ceil(ceil(min(wide, together)*d, 16), len(s.c.half)/wordsAtATime())
		}
		t.compare(s.codes[lo:lo+n], x, s.c, s.x[next:], lines)
	}
	slotTiles.Put(t)
}

// assign finds the codes of the rows x on the calling goroutine.
func (c *Codebook) assign(codes []int32, x []float32) {
	s := nearestSearch{codes: codes, x: x, group: max(1, len(codes)), c: c}
	s.compare(0, len(codes))
}

// slotTile is what a comparison of slotsAtATime slots needs, all of it in the first two levels of cache.
type slotTile struct {
	z      []float32 // slots that do not lie together in a vector's whole numbers
	turned []float32 // their numbers, a row of all slots for each
	scores []float32 // a row of all slots for each codeword
	codes  [mostAtATime]int32
	least  [mostAtATime]float32
	second [mostAtATime]float32
}

var slotTiles = sync.Pool{New: func() any { return new(slotTile) }}

// mostAtATime is the largest of slotsAtATime.
const mostAtATime = 32

// slotsAtATime is how many slots nearestTwo compares with the codewords: two vectors of them.
func slotsAtATime() int {
	switch isa {
	case avx512, vnni, amx:
		return 32
	case avx2:
		return 16
	}
	return 8
}

// wordsAtATime is how many codewords nearestTwo multiplies at a time, those of a group.
func wordsAtATime() int {
	if isa == avx2 {
		return 4
	}
	return 8
}

// reserve makes room for slots of c. A kernel that turns them reads whole vectors.
func (t *slotTile) reserve(c *Codebook) {
	wide := slotsAtATime()
	deep := ceil(c.d, wide/2) * wide / 2
	for _, room := range []struct {
		x *[]float32
		n int
	}{{&t.z, wide*c.d + deep}, {&t.turned, wide * deep}, {&t.scores, wide * len(c.half)}} {
		if len(*room.x) < room.n {
			*room.x = make([]float32, room.n)
		}
	}
}

// compare finds the codes of slots that begin with x, which holds slotsAtATime of them, and numbers behind them where d
// is no multiple of a vector. Meanwhile lines from next on are fetched, so many for each group of codewords.
func (t *slotTile) compare(codes []int32, x []float32, c *Codebook, next []float32, lines int) {
	wide, n := slotsAtATime(), len(codes)
	turnSlots(t.turned, x, c.d)
	closest := nearestTwoKernel(t, c, next, lines)
	copy(codes, t.codes[:n])
	loose := c.limit(x[:n*c.d]) // no row is longer than all of them together
	if float64(closest) > loose {
		return
	}
	// rounding may have decided which of two scores is less: search by differences, in float64
	for i := range n {
		gap := float64(t.second[i]) - float64(t.least[i])
		if gap > loose {
			continue
		}
		row := x[i*c.d : (i+1)*c.d]
		limit := c.limit(row)
		if gap > limit || !(limit >= 0) {
			continue
		}
		codes[i] = c.nearestOf(row, codes[i], float64(t.least[i])+limit, t.scores[i:], wide)
	}
}

// turnSlots writes the numbers of slotsAtATime slots, d each, as rows of all slots, and what lies behind a slot as
// further rows, to the next multiple of a vector.
func turnSlots(turned, x []float32, d int) {
	wide := slotsAtATime()
	if isa == portable {
		transposePortable(turned, wide, x, d, wide, d)
		return
	}
	s := sets[isa].singles
	for i := 0; i < wide; i += s.lanes {
		s.packTransposed(&turned[i], s.size*wide, &x[i*d], s.size*d, ceil(d, s.lanes)*s.lanes)
	}
}

// limit is how far apart the scores of the two nearest codewords of rows as long as x at most may be that rounding has
// changed the order of; NaN where x is not finite. The nearest codeword is no longer than 2X + y, y being the least
// |c_k|, since |x − c| ≤ X + y. One that is longer than 3X + 2y is farther off by a tenth of its square, and rounding
// does not make it the nearest.
func (c *Codebook) limit(x []float32) float64 {
	length := lengthOf(x)
	return c.within(length, min(c.long, 3*length+2*c.short))
}

// lengthOf is |x|, or a little more; NaN where x is not finite.
func lengthOf(x []float32) float64 {
	norm := float64(Dot(x, x))
	if !(norm < math.MaxFloat32) { // in float32
		norm = 0
		for _, v := range x {
			norm += float64(v) * float64(v)
		}
		if norm-norm != 0 {
			return math.NaN()
		}
	}
	return math.Sqrt(norm)*(1+float64(len(x))*unit) + 0x1p-64 // a square below 2⁻¹⁴⁹ is 0
}

// unit is u, the rounding of float32.
const unit = 0x1p-24

// within is how far apart two scores of rows of a length X and of codewords no longer than Y may be that rounding has
// changed the order of. With u = 2⁻²⁴ a score is off by
//
//	u Y² of ½|c|², its own rounding and that of the difference,
//	(d+1) u XY of d products and of the difference, all a hundredth more for terms of higher order, and
//	(d+2) 2⁻¹⁴⁹ of results that are subnormal.
func (c *Codebook) within(length, longest float64) float64 {
	d := float64(c.d)
	if length*c.long*d > 0x1p126 { // products may overflow
		return math.Inf(1)
	}
	return 2 * (1.01*unit*longest*(longest+(d+1)*length) + (d+2)*0x1p-149)
}

// nearestOf is the nearest to x, by differences, of codeword code and those whose scores are not above most; scores are
// so far apart.
func (c *Codebook) nearestOf(x []float32, code int32, most float64, scores []float32, apart int) int32 {
	nearest, least := code, math.Inf(1)
	for k := range int32(c.k) {
		if k != code && float64(scores[int(k)*apart]) > most {
			continue
		}
		if distance := c.distance(x, int(k)); distance < least {
			nearest, least = k, distance
		}
	}
	return nearest
}

// distance is the squared distance of x from codeword k, in float64.
func (c *Codebook) distance(x []float32, k int) (sum float64) {
	word, h := c.column(k), wordsAtATime()
	for l, v := range x {
		e := float64(v) - float64(word[l*h])
		sum += e * e
	}
	return sum
}

// nearestTwoPortable scores all slots of a tile against the codewords, s_k = ½|c_k|² − x·c_k, and keeps the first index
// of the least score of each slot, that score and the next. The result is the least distance between the two.
func nearestTwoPortable(t *slotTile, c *Codebook) float32 {
	wide, h := slotsAtATime(), wordsAtATime()
	closest := float32(math.Inf(1))
	for i := range wide {
		code, least, second := int32(0), float32(math.Inf(1)), float32(math.Inf(1))
		for k, half := range c.half {
			word := c.column(k)
			var product float32
			for l := range c.d {
				product += t.turned[l*wide+i] * word[l*h]
			}
			s := half - product
			t.scores[k*wide+i] = s
			switch {
			case s < least:
				code, least, second = int32(k), s, least
			case s < second:
				second = s
			}
		}
		t.codes[i], t.least[i], t.second[i] = code, least, second
		if gap := second - least; gap < closest {
			closest = gap
		}
	}
	return closest
}

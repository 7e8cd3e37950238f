package simd

import (
	"fmt"
	"math"
	"math/bits"
	"sync"

	"calibra/graph/work"
)

// NearbyRows writes to codes the m codewords nearest to each row of x (n×d), the nearest first: n·m numbers, row by
// row. As [NearestRows], it goes by Σ_l (x_il − c_kl)² in float64, of equal ones by the first index; a row that is not
// a number gets the first m codewords. The codes do not depend on the number of threads. It panics if a length is
// another, or where there are fewer than m codewords.
func NearbyRows(codes []int32, x []float32, m int, c *Codebook) {
	if m < 1 || m > c.k || len(codes)%m != 0 || len(x) != len(codes)/m*c.d {
		panic(fmt.Sprintf("simd: %d codes, %d of each row, of %d numbers with a codebook of %d×%d", len(codes), m, len(x), c.k, c.d))
	}
	work := (c.d + 2*m) * len(c.half) * mostAtATime // of a tile: keeping m scores takes about as long as 2m products
	perBlock := max(1, 1<<20/work) * mostAtATime
	nearbySearches.Run(ceil(len(x)/c.d, perBlock), nearbySearch{codes, x, m, c, perBlock})
}

// nearbySearch is one search in flight.
type nearbySearch struct {
	codes    []int32
	x        []float32
	m        int
	c        *Codebook
	perBlock int // rows
}

var nearbySearches work.Jobs[nearbySearch, *nearbySearch]

// nearbyTile is what a search needs beside a slotTile.
type nearbyTile struct {
	slotTile
	keys []float32 // a row of all slots for each of the m + 1 least scores, ascending
	dist []float64 // of the codes of a row, m
}

var nearbyTiles = sync.Pool{New: func() any { return new(nearbyTile) }}

func (s *nearbySearch) Block(i int) {
	t, wide, d := nearbyTiles.Get().(*nearbyTile), slotsAtATime(), s.c.d
	t.reserve(s.c)
	t.keys, t.dist = resize(t.keys, wide*(s.m+1)), resize(t.dist, s.m)
	n := len(s.x) / d
	for lo := i * s.perBlock; lo < min((i+1)*s.perBlock, n); lo += wide {
		rows := min(wide, n-lo)
		x := s.x[lo*d:]
		if rows < wide || d%(wide/2) != 0 { // a kernel reads whole vectors
			copy(t.z, x[:rows*d])
			x = t.z
		}
		t.nearby(s.codes[lo*s.m:(lo+rows)*s.m], x[:rows*d], x, s.m, s.c)
	}
	nearbyTiles.Put(t)
}

// markedBits is how many bits of a score the number of a codeword may take.
const markedBits = 16

// nearby finds the codewords nearest to the rows, with which x begins. Their order is that of the scores, ½|c_k|² −
// x·c_k, whose last bits are the number of the codeword, where each is farther from the next than these bits and
// rounding can be; else it is that of the distances of all that can be among them.
func (t *nearbyTile) nearby(codes []int32, rows, x []float32, m int, c *Codebook) {
	turnSlots(t.turned, x, c.d)
	nearestTwoKernel(&t.slotTile, c, x, 0)
	marked := bits.Len(uint(c.k - 1))
	for i := range t.keys {
		t.keys[i] = float32(math.Inf(1))
	}
	leastScoresKernel(t.keys, t.scores, c.k, m+1, marked)
	off := math.Ldexp(1.01, marked-23) // of a score, by its last bits
	wide, loose := slotsAtATime(), c.within(lengthOf(rows), c.long)
	for i := range len(codes) / m {
		row, to := rows[i*c.d:(i+1)*c.d], codes[i*m:(i+1)*m]
		limit := loose // no row is longer than all of them together
		if marked <= markedBits && t.apart(to, i, wide, off, limit, marked) {
			continue
		}
		if limit = c.within(lengthOf(row), c.long); marked <= markedBits && t.apart(to, i, wide, off, limit, marked) {
			continue
		}
		last := float64(t.keys[(m-1)*wide+i])
		t.exactly(to, row, i, wide, last+off*math.Abs(last)+limit+subnormal, c)
	}
}

// subnormal is more than what the last bits of a subnormal score make.
const subnormal = 0x1p-149 * (1 << (markedBits + 2))

// apart writes the codes of slot i, and reports whether their scores are farther from each other than limit, and what
// their last bits make of them.
func (t *nearbyTile) apart(codes []int32, i, wide int, off, limit float64, marked int) bool {
	mask, before, sure := uint32(1)<<marked-1, t.keys[i], limit <= math.MaxFloat64
	codes[0] = int32(math.Float32bits(before) & mask)
	for j := 1; j <= len(codes); j++ {
		key := t.keys[j*wide+i]
		if j < len(codes) {
			codes[j] = int32(math.Float32bits(key) & mask)
		}
		a, b := float64(before), float64(key)
		if !(b-a > limit+subnormal+off*(math.Abs(a)+math.Abs(b))) && !math.IsInf(b, 1) {
			sure = false
		}
		before = key
	}
	return sure
}

// exactly finds them by differences, in float64, among the codewords whose scores are not above most.
func (t *nearbyTile) exactly(codes []int32, x []float32, i, wide int, most float64, c *Codebook) {
	found := 0
	for k := range c.k {
		if float64(t.scores[k*wide+i]) > most {
			continue
		}
		Insert(codes, t.dist, found, int32(k), c.distance(x, k))
		found = min(found+1, len(codes))
	}
}

// Insert puts k, whose distance is dist, among the nearest found, in order of their distances, if it is nearer than
// one of them or there is room; of equal ones the first is nearer.
func Insert(to []int32, best []float64, found int, k int32, dist float64) {
	if found == len(to) {
		if found--; !(dist < best[found]) {
			return
		}
	}
	for ; found > 0 && dist < best[found-1]; found-- {
		best[found], to[found] = best[found-1], to[found-1]
	}
	best[found], to[found] = dist, k
}

// leastScoresPortable keeps in least, so many rows of the slots of a tile, the least scores of each slot, ascending.
// scores has a row for each word, whose number takes the last bits of its scores.
func leastScoresPortable(least, scores []float32, words, levels, marked int) {
	wide := slotsAtATime()
	for k := range words {
		for i := range wide {
			key := math.Float32frombits(math.Float32bits(scores[k*wide+i])>>marked<<marked | uint32(k))
			for j := range levels {
				at := &least[j*wide+i]
				if key < *at {
					*at, key = key, *at
				}
			}
		}
	}
}

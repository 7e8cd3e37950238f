package simd

import (
	"math/bits"
	"sync"
	"unsafe"
)

// screen is a codebook for processors that compute rough scores faster than float32. Where the two best scores of a
// slot lie further apart than twice the most by which such a score can be off, no other codeword is nearer; the other
// slots are searched again (Codebook.assign). So codes are those of the exact search.
type screen struct {
	on    bool       // false where nothing can be said of the scores
	tiles tileScreen // with AMX
	pairs pairScreen // with VNNI
}

const (
	mostWords = 1024 // that a screen is made for, whose indices fit into the last digits of a score
	mostDeep  = 4096 // numbers in a codeword
)

// set prepares the screen of a codebook that is prepared otherwise.
func (s *screen) set(c *Codebook, words []float32) {
	k, small := &sets[isa], c.k <= mostWords && c.d <= mostDeep
	s.on = small && (k.screenTiles != nil && s.tiles.set(c, words) || k.nearestPairs != nil && s.pairs.set(c, words))
}

const (
	screenGroups = 64 // of sixteen slots, that wait at most
	copiedGroups = 2  // of slots that are copied
)

// screenMemory is what one search needs: groups of slots wait until there are many.
type screenMemory struct {
	from   [screenGroups + screenAtATime]*float32 // the first slot of each group, the others behind it
	at     [screenGroups]int                      // the first slot's place among the codes
	waits  int                                    // groups
	found  [screenGroups * tileSide]int32         // codes of the best scores
	unsure [screenGroups]uint16                   // a bit for each slot whose second best score is within the limit
	tiles  tileMemory
	pairs  pairMemory
	copied []float32 // slots that do not lie together, or have a centre
	shift  []float32 // less the centre
	again  []float32 // slots for the exact search
	place  [mostAtATime]int
	exact  [mostAtATime]int32
	held   int // slots in again
	twice  int // slots searched again so far
}

var screens = sync.Pool{New: func() any { return new(screenMemory) }}

// reserve makes m ready for a search.
func (m *screenMemory) reserve(c *Codebook) {
	for _, room := range []struct {
		x *[]float32
		n int
	}{{&m.copied, copiedGroups * tileSide * c.d}, {&m.again, mostAtATime * c.d}} {
		if len(*room.x) < room.n {
			*room.x = make([]float32, room.n)
		}
	}
	if sets[isa].screenTiles != nil {
		m.tiles.reserve(m, c)
	} else {
		m.pairs.reserve(c)
	}
}

// search finds the codes of slots on the calling goroutine. It returns false if the centre is too long for the screen.
func (m *screenMemory) search(s *nearestSearch, lo, hi int) bool {
	if s.centre != nil && !m.shiftBy(s.centre, s.c) {
		return false
	}
	m.reserve(s.c)
	inPlace, most := s.centre == nil && (s.rows == nil || s.group%tileSide == 0), screenGroups
	if !inPlace {
		most = copiedGroups
	}
	for lo < hi {
		from, n := s.run(lo, hi)
		x := s.x[from:]
		if !inPlace {
			n = min(hi-lo, copiedGroups*tileSide)
			m.copySlots(s, lo, lo+n)
			x = m.copied
		}
		for ; n >= tileSide; n -= tileSide {
			m.from[m.waits], m.at[m.waits] = &x[0], lo
			lo, x = lo+tileSide, x[tileSide*s.c.d:]
			if m.waits++; m.waits == most {
				m.find(s, lo)
			}
		}
		if n > 0 {
			s.compare(lo, lo+n)
			lo += n
		}
	}
	m.find(s, lo)
	m.searchHeld(s)
	clear(m.from[:])
	m.tiles.job = screenJob{}
	return true
}

// shiftBy makes m ready for a search of slots less a centre, if the screen allows for one so long.
func (m *screenMemory) shiftBy(centre []float64, c *Codebook) bool {
	if sets[isa].plus == nil {
		return false
	}
	m.shift = resize(m.shift, len(centre))
	lessKernel(m.shift, m.shift, centre)
	return lengthOf(m.shift) <= mostShift*c.long
}

// copySlots copies slots, less their centre.
func (m *screenMemory) copySlots(s *nearestSearch, lo, hi int) {
	if s.centre == nil {
		s.copySlots(m.copied, lo, hi)
		return
	}
	for z, d := m.copied, s.c.d; lo < hi; {
		from, n := s.run(lo, hi)
		sets[isa].plus(&z[0], &s.x[from], &m.shift[lo%s.group*d], n*d)
		lo, z = lo+n, z[n*d:]
	}
}

// find finds the codes of the groups that wait, but for slots held for the exact search. Slot next is searched then.
func (m *screenMemory) find(s *nearestSearch, next int) {
	if m.waits == 0 {
		return
	}
	for g := range screenAtATime { // that are only fetched
		from, _ := s.run(min(next+g*tileSide, len(s.codes)-1), len(s.codes))
		m.from[m.waits+g] = &s.x[from]
	}
	if sets[isa].screenTiles != nil {
		m.tiles.find(m.waits)
	} else {
		m.findPairs(s)
	}
	for g, at := range m.at[:m.waits] {
		*(*[tileSide]int32)(s.codes[at:]) = *(*[tileSide]int32)(m.found[g*tileSide:])
		for unsure := m.unsure[g]; unsure != 0; unsure &= unsure - 1 {
			m.hold(s, at+bits.TrailingZeros16(unsure))
		}
	}
	m.waits = 0
}

// hold keeps a slot until there are many to be searched exactly.
func (m *screenMemory) hold(s *nearestSearch, slot int) {
	s.copySlots(m.again[m.held*s.c.d:], slot, slot+1)
	m.place[m.held] = slot
	if m.held++; m.held == mostAtATime {
		m.searchHeld(s)
	}
}

// searchHeld searches exactly the slots that are held.
func (m *screenMemory) searchHeld(s *nearestSearch) {
	n := m.held
	s.c.assign(m.exact[:n], m.again[:n*s.c.d])
	for i, slot := range m.place[:n] {
		s.codes[slot] = m.exact[i]
	}
	m.held, m.twice = 0, m.twice+n
}

// resizeAligned is resize in memory that begins with a line of the cache.
func resizeAligned[T float32 | uint32](x []T, n int) []T {
	if cap(x) < n {
		x = make([]T, n+tileSide)
		past := int(uintptr(unsafe.Pointer(&x[0])) / 4 % tileSide)
		return x[(tileSide-past)%tileSide:][:n]
	}
	x = x[:n]
	clear(x)
	return x
}

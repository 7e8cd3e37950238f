package simd

import (
	"fmt"
	"math"
	"sync"
)

// Codebook is a codebook prepared for nearest-codeword search: the K codewords
// turned for the product kernel, and half their squared norms. The zero value is
// empty; Set fills it, and fills it again without allocating. Between calls of Set
// it may be read by many goroutines.
type Codebook struct {
	k, d        int
	width       int       // columns of a panel
	turned      []float32 // panels of d×width, codewords as columns, zeros behind them
	half        []float32 // ½|c_k|², +∞ behind the last
	short, long float64   // the least and the largest |c_k|
	screen      screen
}

// Set prepares the k codewords of words, k×d. It panics if words has another length.
func (c *Codebook) Set(words []float32, k, d int) {
	if k <= 0 || d <= 0 || len(words) != k*d {
		panic(fmt.Sprintf("simd: a codebook of %d×%d from %d numbers", k, d, len(words)))
	}
	c.k, c.d, c.width = k, d, tileColumns()
	panels := ceil(k, c.width)
	c.turned = resize(c.turned, panels*c.width*d)
	c.half = resize(c.half, panels*c.width)
	for j := range c.half {
		c.half[j] = float32(math.Inf(1))
	}
	least, most := math.Inf(1), 0.0
	for j := range k {
		var norm float64
		to := c.turned[j/c.width*c.width*d+j%c.width:]
		for l, x := range words[j*d : (j+1)*d] {
			to[l*c.width] = x
			norm += float64(x) * float64(x)
		}
		c.half[j] = float32(norm / 2)
		least, most = min(least, norm), max(most, norm)
	}
	c.short, c.long = math.Sqrt(least), math.Sqrt(most)
	c.screen.set(c, words)
}

// resize returns n zeros, in x if they fit.
func resize(x []float32, n int) []float32 {
	if cap(x) < n {
		return make([]float32, n)
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
	search(codes, x, nil, len(codes), c)
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
	search(codes, features, rows, width/c.d, c)
}

// search cuts the codes into groups, each of consecutive slots: of one gathered row,
// or of all of x.
func search(codes []int32, x []float32, rows []int32, group int, c *Codebook) {
	// blocks of some 2¹⁹ multiplications, what waking a thread costs; a screen does four times as many meanwhile
	multiplications := 1 << 19
	if c.screen.on {
		multiplications *= 4
	}
	perBlock := max(1, multiplications/(c.d*len(c.half)*tileSide)) * tileSide
	if rows != nil {
		perBlock = max(1, perBlock/group) * group
	}
	searches.Run(ceil(len(codes), perBlock), nearestSearch{codes, x, rows, group, c, perBlock})
}

// nearestSearch is one search in flight.
type nearestSearch struct {
	codes    []int32
	x        []float32
	rows     []int32
	group    int
	c        *Codebook
	perBlock int
}

var searches Jobs[nearestSearch, *nearestSearch]

func (s *nearestSearch) Block(i int) {
	lo := i * s.perBlock
	hi := min(lo+s.perBlock, len(s.codes))
	if !s.c.screen.on {
		s.runs(lo, hi, s.c.assign)
		return
	}
	m := screens.Get().(*screenMemory)
	m.reserve(s.c)
	s.runs(lo, hi, func(codes []int32, x []float32) { m.add(codes, x, s.c) })
	m.finish(s.c)
	m.job = screenJob{}
	screens.Put(m)
}

// runs calls assign for each run of slots that lie one after the other.
func (s *nearestSearch) runs(lo, hi int, assign func(codes []int32, x []float32)) {
	d := s.c.d
	if s.rows == nil {
		assign(s.codes[lo:hi], s.x[lo*d:hi*d])
		return
	}
	for ; lo < hi; lo += s.group {
		from := int(s.rows[lo/s.group]) * s.group * d
		assign(s.codes[lo:lo+s.group], s.x[from:from+s.group*d])
	}
}

// assign finds the codes of the rows x on the calling goroutine.
func (c *Codebook) assign(codes []int32, x []float32) {
	scores := tiles.Get().(*scoreTile)
	n := len(c.half)
	rows := max(12, tileSize/n/12*12)
	if len(scores.products) < rows*n {
		scores.products = make([]float32, rows*n)
	}
	for lo := 0; lo < len(codes); lo += rows {
		hi := min(lo+rows, len(codes))
		productTile(scores.products, n, x[lo*c.d:], hi-lo, c)
		argminKernel(codes[lo:hi], c.half, scores.products, n)
		c.settle(codes[lo:hi], x[lo*c.d:], scores)
	}
	tiles.Put(scores)
}

// settle searches again by differences, in float64, for the rows of x whose two least scores are so near that rounding
// may have decided which is less.
func (c *Codebook) settle(codes []int32, x []float32, t *scoreTile) {
	if c.k == 1 {
		return
	}
	n := len(c.half)
	if len(t.second) < len(codes) {
		t.second, t.least = make([]int32, len(codes)), make([]float32, len(codes))
	}
	second := t.second[:len(codes)]
	for i, k := range codes {
		product := &t.products[i*n+int(k)]
		t.least[i] = c.half[k] - *product
		*product = float32(math.Inf(-1)) // no other search of the row finds k
	}
	argminKernel(second, c.half, t.products, n)
	loose := c.limit(x[:len(codes)*c.d]) // no row is longer than all of them together
	for i, k := range second {
		gap := float64(c.half[k]-t.products[i*n+int(k)]) - float64(t.least[i])
		if gap > loose {
			continue
		}
		row, scores := x[i*c.d:(i+1)*c.d], t.products[i*n:(i+1)*n]
		limit := c.limit(row)
		if gap > limit || !(limit >= 0) {
			continue
		}
		codes[i] = c.nearestOf(row, codes[i], float64(t.least[i])+limit, scores)
	}
}

// limit is how far apart two scores of rows as long as x at most may be that rounding has changed the order of; NaN where
// x is not finite. With u = 2⁻²⁴, X = |x| and Y the largest |c_k| that matters, a score is off by
//
//	u Y² of ½|c|², its own rounding and that of the difference,
//	(d+1) u XY of d products and of the difference, all a hundredth more for terms of higher order, and
//	(d+2) 2⁻¹⁴⁹ of results that are subnormal.
//
// The nearest codeword is no longer than 2X + y, y being the least |c_k|, since |x − c| ≤ X + y. One that is longer than
// 3X + 2y is farther off by a tenth of its square, and rounding does not make it the nearest.
func (c *Codebook) limit(x []float32) float64 {
	const u = 0x1p-24
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
	d := float64(c.d)
	length := math.Sqrt(norm)*(1+float64(len(x))*u) + 0x1p-64 // a square below 2⁻¹⁴⁹ is 0
	longest := min(c.long, 3*length+2*c.short)
	if length*c.long*d > 0x1p126 { // products may overflow
		return math.Inf(1)
	}
	return 2 * (1.01*u*longest*(longest+(d+1)*length) + (d+2)*0x1p-149)
}

// nearestOf is the nearest to x, by differences, of codeword code and those whose scores are not above most.
func (c *Codebook) nearestOf(x []float32, code int32, most float64, scores []float32) int32 {
	nearest, least := code, math.Inf(1)
	for k := range int32(c.k) {
		if k != code && float64(c.half[k]-scores[k]) > most {
			continue
		}
		word := c.turned[int(k)/c.width*c.width*c.d+int(k)%c.width:]
		var apart float64
		for l, v := range x {
			e := float64(v) - float64(word[l*c.width])
			apart += e * e
		}
		if apart < least {
			nearest, least = k, apart
		}
	}
	return nearest
}

// scoreTile holds the products of some rows with all codewords: 32 KiB, a
// first-level cache, unless one tile of 12 rows needs more.
type scoreTile struct {
	products []float32
	second   []int32   // the second nearest of each row
	least    []float32 // its least score
}

const tileSize = 8192

var tiles = sync.Pool{New: func() any { return &scoreTile{products: make([]float32, tileSize)} }}

// tileColumns is the number of codewords in a panel of the product kernel.
func tileColumns() int {
	switch isa {
	case avx512, amx:
		return 32
	case neon:
		return 8
	}
	return 16
}

func argminPortable(codes []int32, half, scores []float32, stride int) {
	for i := range codes {
		least := float32(math.Inf(1))
		codes[i] = 0
		for j, s := range scores[i*stride : i*stride+len(half)] {
			if v := half[j] - s; v < least {
				least, codes[i] = v, int32(j)
			}
		}
	}
}

// productTilePortable writes the products of m rows of x with the turned codewords.
func productTilePortable(scores []float32, stride int, x []float32, m int, c *Codebook) {
	for i := range m {
		row := scores[i*stride : (i+1)*stride]
		clear(row)
		for p := 0; p < stride; p += c.width {
			to := row[p : p+c.width]
			for l, v := range x[i*c.d : (i+1)*c.d] {
				from := c.turned[p*c.d+l*c.width:][:len(to)]
				for j, w := range from {
					to[j] += v * w
				}
			}
		}
	}
}

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
	k, d   int
	width  int       // columns of a panel
	turned []float32 // panels of d×width, codewords as columns, zeros behind them
	half   []float32 // ½|c_k|², +∞ behind the last
	screen screen
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
	for j := range k {
		var norm float64
		to := c.turned[j/c.width*c.width*d+j%c.width:]
		for l, x := range words[j*d : (j+1)*d] {
			to[l*c.width] = x
			norm += float64(x) * float64(x)
		}
		c.half[j] = float32(norm / 2)
	}
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
//	argmin_k ½|c_k|² − x_i·c_k ,
//
// the first index among equals; 0 for a row that is not a number. The products never
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
	}
	tiles.Put(scores)
}

// scoreTile holds the products of some rows with all codewords: 32 KiB, a
// first-level cache, unless one tile of 12 rows needs more.
type scoreTile struct{ products []float32 }

const tileSize = 8192

var tiles = sync.Pool{New: func() any { return &scoreTile{make([]float32, tileSize)} }}

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

//go:build amd64 && !noasm

package simd

import "sync"

// sgemmBlocked computes C = α·op(A)·op(B), or adds it to C.
func sgemmBlocked(transA, transB bool, m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, accumulate bool, c []float32, ldc int) {
	g := gemms.Get().(*gemm)
	*g = gemm{
		transA: transA, transB: transB,
		m: m, n: n, k: k, alpha: alpha, accumulate: accumulate,
		a: a, b: b, c: c, lda: lda, ldb: ldb, ldc: ldc,
	}
	Run(g.cut(), g)
	*g = gemm{}
	gemms.Put(g)
}

// depth is the number of terms of an inner product between two roundings into C:
// a packed panel of B, depth × 32, stays in the first two levels of cache.
const depth = 256

// gemm is one product in flight, cut into blocks of rows and columns.
type gemm struct {
	transA, transB bool
	m, n, k        int
	alpha          float32
	accumulate     bool // C holds something to be added to
	a, b, c        []float32
	lda, ldb, ldc  int
	rows, columns  int // of a block
	blocksAcross   int
}

var gemms = sync.Pool{New: func() any { return new(gemm) }}

// packed holds one panel of B.
type packed [depth * 32]float32

var panels = sync.Pool{New: func() any { return new(packed) }}

// cut chooses the blocks and returns their number. Blocks are a few times as many
// as threads where the work allows, for balance, but none below 2¹⁹ multiplications,
// some 10 µs, which waking a thread costs.
func (g *gemm) cut() int {
	const leastWork, mostRows = 1 << 19, 240
	width := tileColumns()
	g.rows, g.columns = min(g.m, mostRows), g.n
	work := g.m * g.n * g.k
	blocks := min(4*Threads(), work/leastWork)
	if down := ceil(g.m, g.rows); blocks > down {
		across := min(ceil(g.n, width), ceil(blocks, down))
		g.columns = ceil(ceil(g.n, width), across) * width
	}
	g.blocksAcross = ceil(g.n, g.columns)
	if down := ceil(g.m, g.rows); Threads() > 1 && down*g.blocksAcross < min(blocks, Threads()) {
		// few columns: cut the rows, in multiples of the tallest tile
		g.rows = ceil(ceil(g.m, 12), ceil(min(blocks, Threads()), g.blocksAcross)) * 12
	}
	return ceil(g.m, g.rows) * g.blocksAcross
}

// Block computes one block of C, panel by panel.
func (g *gemm) Block(block int) {
	i := block / g.blocksAcross * g.rows
	rows := min(g.rows, g.m-i)
	first := block % g.blocksAcross * g.columns
	last := min(first+g.columns, g.n)
	width := tileColumns()

	buffer := panels.Get().(*packed)
	for l := 0; l < g.k; l += depth {
		terms := min(depth, g.k-l)
		at := i*g.lda + l
		if g.transA {
			at = l*g.lda + i
		}
		for j := first; j < last; j += width {
			n := min(width, last-j)
			b, ldb := g.panel(buffer, l, terms, j, n, rows)
			gemmKernel(g.transA, rows, terms, g.a[at:], g.lda, b, ldb, g.c[i*g.ldc+j:], g.ldc, n, g.alpha, g.accumulate || l > 0)
		}
	}
	panels.Put(buffer)
}

// panel returns rows l … l+terms of columns j … j+n of op(B) and their stride:
// packed, unless B can be read where it lies and few rows of C use it.
func (g *gemm) panel(buffer *packed, l, terms, j, n, rows int) ([]float32, int) {
	width := tileColumns()
	if n <= width/2 {
		width /= 2
	}
	if g.transB {
		packTransposedKernel(buffer[:], width, g.b[j*g.ldb+l:], g.ldb, terms, n)
		return buffer[:], width
	}
	const few = 8
	if rows <= few && n == width {
		return g.b[l*g.ldb+j:], g.ldb
	}
	packRowsKernel(buffer[:], width, g.b[l*g.ldb+j:], g.ldb, terms, n)
	return buffer[:], width
}

// gemmKernel is the panel product of gen/gemm.go; the strides count floats.
func gemmKernel(transA bool, m, k int, a []float32, lda int, b []float32, ldb int, c []float32, ldc, n int, alpha float32, accumulate bool) {
	add := 0
	if accumulate {
		add = 1
	}
	wide := n > tileColumns()/2
	switch {
	case isa == avx512 && wide && transA:
		gemmColumns2AVX512(m, k, &a[0], 4*lda, &b[0], 4*ldb, &c[0], 4*ldc, n, alpha, add)
	case isa == avx512 && wide:
		gemmRows2AVX512(m, k, &a[0], 4*lda, &b[0], 4*ldb, &c[0], 4*ldc, n, alpha, add)
	case isa == avx512 && transA:
		gemmColumns1AVX512(m, k, &a[0], 4*lda, &b[0], 4*ldb, &c[0], 4*ldc, n, alpha, add)
	case isa == avx512:
		gemmRows1AVX512(m, k, &a[0], 4*lda, &b[0], 4*ldb, &c[0], 4*ldc, n, alpha, add)
	case wide && transA:
		gemmColumns2AVX2(m, k, &a[0], 4*lda, &b[0], 4*ldb, &c[0], 4*ldc, n, alpha, add)
	case wide:
		gemmRows2AVX2(m, k, &a[0], 4*lda, &b[0], 4*ldb, &c[0], 4*ldc, n, alpha, add)
	case transA:
		gemmColumns1AVX2(m, k, &a[0], 4*lda, &b[0], 4*ldb, &c[0], 4*ldc, n, alpha, add)
	default:
		gemmRows1AVX2(m, k, &a[0], 4*lda, &b[0], 4*ldb, &c[0], 4*ldc, n, alpha, add)
	}
}

// packRowsKernel copies k rows of n floats into rows of width, zeros behind them.
func packRowsKernel(dst []float32, width int, src []float32, lds, k, n int) {
	switch {
	case isa == avx512 && width == 32:
		packRows2AVX512(&dst[0], &src[0], 4*lds, k, n)
	case isa == avx512:
		packRows1AVX512(&dst[0], &src[0], 4*lds, k, n)
	case width == 16:
		packRows2AVX2(&dst[0], &src[0], 4*lds, k, n)
	default:
		packRows1AVX2(&dst[0], &src[0], 4*lds, k, n)
	}
}

// packTransposedKernel writes n rows of k floats as the columns of k rows of width,
// zeros behind them.
func packTransposedKernel(dst []float32, width int, src []float32, lds, k, n int) {
	lanes := tileColumns() / 2
	whole := k &^ (lanes - 1)
	j := 0
	for ; j+lanes <= n && whole > 0; j += lanes {
		if isa == avx512 {
			packTransposedAVX512(&dst[j], 4*width, &src[j*lds], 4*lds, whole)
		} else {
			packTransposedAVX2(&dst[j], 4*width, &src[j*lds], 4*lds, whole)
		}
		for i := j; i < j+lanes; i++ {
			for l, v := range src[i*lds+whole : i*lds+k] {
				dst[(whole+l)*width+i] = v
			}
		}
	}
	for ; j < n; j++ {
		for l, v := range src[j*lds : j*lds+k] {
			dst[l*width+j] = v
		}
	}
	for ; j < width; j++ {
		for l := range k {
			dst[l*width+j] = 0
		}
	}
}

// productTile writes the products of m rows of x with the codewords of c.
func productTile(scores []float32, stride int, x []float32, m int, c *Codebook) {
	if isa == portable {
		productTilePortable(scores, stride, x, m, c)
		return
	}
	for p := 0; p < stride; p += c.width {
		for l := 0; l < c.d; l += depth {
			gemmKernel(false, m, min(depth, c.d-l), x[l:], c.d, c.turned[p*c.d+l*c.width:], c.width, scores[p:], stride, c.width, 1, l > 0)
		}
	}
}

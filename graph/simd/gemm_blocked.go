package simd

import (
	"sync"

	"calibra/graph/work"

	"gonum.org/v1/gonum/blas"
)

type float interface{ float32 | float64 }

// panelProduct is the signature of the kernels of gen/gemm.go; strides in bytes.
type panelProduct[T float] func(m, k int, a *T, lda int, b *T, ldb int, c *T, ldc, n int, alpha T, accumulate int)

// gemmKernels are the kernels for one entry type and instruction set. Those of index
// 0 work on panels of one vector, those of index 1 on two.
type gemmKernels[T float] struct {
	size, lanes    int // bytes of an entry, entries of a vector
	rows, columns  [2]panelProduct[T]
	packRows       [2]func(dst, src *T, lds, k, n int)
	packTransposed func(dst *T, ldd int, src *T, lds, k int)
	products       work.Jobs[gemm[T], *gemm[T]]
	panels         sync.Pool // of *[]T, room for one packed panel of B
	narrows        work.Jobs[narrow[T], *narrow[T]]
	turned         sync.Pool // of *[]T, rows of a narrow product as columns
}

// depth is the number of terms of an inner product between two roundings into C: a
// packed panel of B, depth rows of 128 bytes (AVX-512), 64 (AVX2) or 32 (NEON), stays in
// the first two levels of cache. It is the same for all, and so are the bits of C.
const depth = 256

func (s *gemmKernels[T]) withPools() *gemmKernels[T] {
	s.turned.New = func() any { return new([]T) }
	s.panels.New = func() any {
		p := make([]T, depth*2*s.lanes)
		return &p
	}
	return s
}

// product computes C = α·op(A)·op(B) + β·C, for positive m, n and k.
func (s *gemmKernels[T]) product(tA, tB blas.Transpose, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int) {
	checkGemm(tA, tB, m, n, k, len(a), lda, len(b), ldb, len(c), ldc)
	scaleRows(c, m, n, ldc, beta)
	transA, transB, accumulate := tA != blas.NoTrans, tB != blas.NoTrans, beta != 0
	if transA && !transB && !accumulate && m >= 4*s.lanes && 4*n <= 3*s.lanes {
		s.multiplyNarrow(m, n, k, alpha, a, lda, b, ldb, c, ldc)
		return
	}
	s.multiply(transA, transB, m, n, k, alpha, a, lda, b, ldb, accumulate, c, ldc)
}

// multiply computes C = α·op(A)·op(B), or adds it to C, block by block of C.
func (s *gemmKernels[T]) multiply(transA, transB bool, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, accumulate bool, c []T, ldc int) {
	g := gemm[T]{
		kernels: s,
		transA:  transA, transB: transB,
		m: m, n: n, k: k, alpha: alpha, accumulate: accumulate,
		a: a, b: b, c: c, lda: lda, ldb: ldb, ldc: ldc,
	}
	s.products.Run(g.cut(), g)
}

// panel multiplies one panel of B; the strides count entries.
func (s *gemmKernels[T]) panel(transA bool, m, k int, a []T, lda int, b []T, ldb int, c []T, ldc, n int, alpha T, accumulate bool) {
	kernel := &s.rows
	if transA {
		kernel = &s.columns
	}
	add, wide := 0, 0
	if accumulate {
		add = 1
	}
	if n > s.lanes {
		wide = 1
	}
	kernel[wide](m, k, &a[0], s.size*lda, &b[0], s.size*ldb, &c[0], s.size*ldc, n, alpha, add)
}

// gemm is one product in flight, cut into blocks of rows and columns.
type gemm[T float] struct {
	kernels        *gemmKernels[T]
	transA, transB bool
	m, n, k        int
	alpha          T
	accumulate     bool // C holds something to be added to
	a, b, c        []T
	lda, ldb, ldc  int
	rows, columns  int // of a block
	blocksAcross   int
}

// cut chooses the blocks and returns their number. Blocks are a few times as many
// as threads where the work allows, for balance, but none below 2¹⁹ multiplications,
// some 10 µs, which waking a thread costs.
func (g *gemm[T]) cut() int {
	const leastWork, mostRows = 1 << 19, 240
	width := 2 * g.kernels.lanes
	g.rows, g.columns = min(g.m, mostRows), g.n
	blocks := min(4*work.Threads(), g.m*g.n*g.k/leastWork)
	if down := ceil(g.m, g.rows); blocks > down {
		across := min(ceil(g.n, width), ceil(blocks, down))
		g.columns = ceil(ceil(g.n, width), across) * width
	}
	g.blocksAcross = ceil(g.n, g.columns)
	if down := ceil(g.m, g.rows); down*g.blocksAcross < min(blocks, work.Threads()) {
		// few columns: cut the rows, in multiples of the tallest tile
		g.rows = ceil(ceil(g.m, 12), ceil(min(blocks, work.Threads()), g.blocksAcross)) * 12
	}
	return ceil(g.m, g.rows) * g.blocksAcross
}

// Block computes one block of C, panel by panel.
func (g *gemm[T]) Block(block int) {
	i := block / g.blocksAcross * g.rows
	rows := min(g.rows, g.m-i)
	first := block % g.blocksAcross * g.columns
	last := min(first+g.columns, g.n)
	width := 2 * g.kernels.lanes

	buffer := g.kernels.panels.Get().(*[]T)
	for l := 0; l < g.k; l += depth {
		terms := min(depth, g.k-l)
		at := i*g.lda + l
		if g.transA {
			at = l*g.lda + i
		}
		for j := first; j < last; j += width {
			n := min(width, last-j)
			b, ldb := g.panel(*buffer, l, terms, j, n, rows)
			g.kernels.panel(g.transA, rows, terms, g.a[at:], g.lda, b, ldb, g.c[i*g.ldc+j:], g.ldc, n, g.alpha, g.accumulate || l > 0)
		}
	}
	g.kernels.panels.Put(buffer)
}

// panel returns rows l … l+terms of columns j … j+n of op(B) and their stride:
// packed, unless B can be read where it lies and few rows of C use it.
func (g *gemm[T]) panel(buffer []T, l, terms, j, n, rows int) ([]T, int) {
	s := g.kernels
	wide := 0
	if n > s.lanes {
		wide = 1
	}
	width := s.lanes << wide
	if g.transB {
		s.packTranspose(buffer, width, g.b[j*g.ldb+l:], g.ldb, terms, n)
		return buffer, width
	}
	b := g.b[l*g.ldb+j:]
	const few = 12 // the tallest tile, which goes through the panel once
	if rows <= few && n == width {
		return b, g.ldb
	}
	s.packRows[wide](&buffer[0], &b[0], s.size*g.ldb, terms, n)
	return buffer, width
}

// packTranspose writes n rows of k entries as the columns of k rows of width, zeros
// behind them.
func (s *gemmKernels[T]) packTranspose(dst []T, width int, src []T, lds, k, n int) {
	s.transpose(dst, width, src, lds, n, k)
	for j := n; j < width; j++ {
		for l := range k {
			dst[l*width+j] = 0
		}
	}
}

// transpose writes n rows of k entries as the columns of k rows.
func (s *gemmKernels[T]) transpose(dst []T, width int, src []T, lds, n, k int) {
	whole := k &^ (s.lanes - 1)
	j := 0
	for ; j+s.lanes <= n && whole > 0; j += s.lanes {
		s.packTransposed(&dst[j], s.size*width, &src[j*lds], s.size*lds, whole)
		for i := j; i < j+s.lanes; i++ {
			for l, v := range src[i*lds+whole : i*lds+k] {
				dst[(whole+l)*width+i] = v
			}
		}
	}
	if j < n {
		transposePortable(dst[j:], width, src[j*lds:], lds, n-j, k)
	}
}

//go:build (linux || darwin) && (amd64 || arm64) && !android && !nodlopen

package blas

import (
	"runtime"
	"sync"
	"unsafe"

	"calibra/graph/simd"

	"github.com/ebitengine/purego"
	"gonum.org/v1/gonum/blas"
)

// leastWork is the number of multiplications below which a call of the library costs
// more than it gains: some 0.3 µs, against simd's rate.
const leastWork = 32 * 32 * 32

// product is one product in flight, cut into blocks by its shape alone.
type product[T float32 | float64] struct {
	symbol         uintptr
	transA, transB byte
	m, n, k        int
	alpha, beta    T
	a, b, c        []T
	lda, ldb, ldc  int
	rows, columns  int // of a block
	across         int // blocks side by side
}

func multiply[T float32 | float64](jobs *simd.Jobs[product[T], *product[T]], symbol uintptr, tA, tB blas.Transpose, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int) {
	p := product[T]{
		symbol: symbol, transA: letter(tA), transB: letter(tB), m: m, n: n, k: k,
		alpha: alpha, beta: beta, a: a, b: b, c: c, lda: lda, ldb: ldb, ldc: ldc,
	}
	p.mustFit()
	jobs.Run(p.cut(), p)
}

func letter(t blas.Transpose) byte {
	switch t {
	case blas.NoTrans:
		return 'N'
	case blas.Trans, blas.ConjTrans:
		return 'T'
	}
	panic("blas: bad transpose")
}

// mustFit panics if the library would read or write past a slice.
func (p *product[T]) mustFit() {
	rowsA, colsA, rowsB, colsB := p.m, p.k, p.k, p.n
	if p.transA == 'T' {
		rowsA, colsA = colsA, rowsA
	}
	if p.transB == 'T' {
		rowsB, colsB = colsB, rowsB
	}
	fits := func(x []T, rows, cols, ld int) bool { return ld >= cols && len(x) >= (rows-1)*ld+cols }
	if !fits(p.a, rowsA, colsA, p.lda) || !fits(p.b, rowsB, colsB, p.ldb) || !fits(p.c, p.m, p.n, p.ldc) {
		panic("blas: matrix shorter than its dimensions")
	}
}

// cut chooses blocks of 2²⁰ multiplications or more, at most 16, along the longer
// side of C, and returns their number.
func (p *product[T]) cut() int {
	const block, most, multiple = 1 << 20, 16, 64
	p.rows, p.columns = p.m, p.n
	parts := min(most, p.m*p.n*p.k/block)
	if parts > 1 && p.n >= p.m {
		p.columns = ceil(ceil(p.n, parts), multiple) * multiple
	} else if parts > 1 {
		p.rows = ceil(ceil(p.m, parts), multiple) * multiple
	}
	p.across = ceil(p.n, p.columns)
	return ceil(p.m, p.rows) * p.across
}

func ceil(a, b int) int { return (a + b - 1) / b }

// call is what a Fortran call points to, and the pointers.
type call struct {
	transA, transB byte
	m, n, k        int32
	lda, ldb, ldc  int32
	pointers       [15]uintptr
}

var calls = sync.Pool{New: func() any { return new(call) }}

func (p *product[T]) Block(i int) {
	row, column := i/p.across*p.rows, i%p.across*p.columns
	a, b := row*p.lda, column
	if p.transA == 'T' {
		a = row
	}
	if p.transB == 'T' {
		b = column * p.ldb
	}
	g := calls.Get().(*call)
	g.transA, g.transB = p.transA, p.transB
	g.m, g.n, g.k = int32(min(p.rows, p.m-row)), int32(min(p.columns, p.n-column)), int32(p.k)
	g.lda, g.ldb, g.ldc = int32(p.lda), int32(p.ldb), int32(p.ldc)
	// Cᵀ = op(B)ᵀ·op(A)ᵀ; the last two are the lengths of the letters. All that is
	// pointed to lies on the heap, in p, g and the slices of p, and is kept alive below;
	// as arguments of their own the pointers would be copied to the heap at each call.
	g.pointers = [...]uintptr{
		address(&g.transB), address(&g.transA), address(&g.n), address(&g.m), address(&g.k),
		address(&p.alpha), address(&p.b[b]), address(&g.ldb), address(&p.a[a]), address(&g.lda),
		address(&p.beta), address(&p.c[row*p.ldc+column]), address(&g.ldc), 1, 1,
	}
	purego.SyscallN(p.symbol, g.pointers[:]...)
	runtime.KeepAlive(g)
	runtime.KeepAlive(p)
	calls.Put(g)
}

func address[T any](x *T) uintptr { return uintptr(unsafe.Pointer(x)) }

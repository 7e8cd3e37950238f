package simd

// narrow is a product C = α·Aᵀ·B of few columns in flight. It is computed as the transpose of α·Bᵀ·A, whose rows fill
// vectors where those of C would not. The terms of an entry are the same, added in the same order.
type narrow[T float] struct {
	kernels       *gemmKernels[T]
	m, n, k       int
	alpha         T
	a, b, c       []T
	lda, ldb, ldc int
}

// narrowRows is how many rows of C a block computes.
const narrowRows = 512

func (s *gemmKernels[T]) multiplyNarrow(m, n, k int, alpha T, a []T, lda int, b []T, ldb int, c []T, ldc int) {
	s.narrows.Run(ceil(m, narrowRows), narrow[T]{kernels: s, m: m, n: n, k: k, alpha: alpha, a: a, b: b, c: c, lda: lda, ldb: ldb, ldc: ldc})
}

// Block computes some rows of C.
func (p *narrow[T]) Block(block int) {
	lo := block * narrowRows
	rows := min(narrowRows, p.m-lo)
	buffer := p.kernels.turned.Get().(*[]T)
	if len(*buffer) < p.n*narrowRows {
		*buffer = make([]T, p.n*narrowRows)
	}
	p.kernels.multiply(true, false, p.n, rows, p.k, p.alpha, p.b, p.ldb, p.a[lo:], p.lda, false, *buffer, rows)
	for j := range p.n {
		column := (*buffer)[j*rows : (j+1)*rows]
		at := lo*p.ldc + j
		for _, v := range column {
			p.c[at] = v
			at += p.ldc
		}
	}
	p.kernels.turned.Put(buffer)
}

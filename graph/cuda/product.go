package cuda

import (
	"gonum.org/v1/gonum/blas"
	"gorgonia.org/tensor"
)

// layout is which factors of a product are transposed.
type layout int

// The layouts of Z = op(X)·op(Y).
const (
	xy  layout = iota // X·Y
	xyt               // X·Yᵀ
	xty               // Xᵀ·Y
)

// layoutOf is that of a product whose factors are not both transposed.
func layoutOf(x, y blas.Transpose) layout {
	switch {
	case x == blas.Trans:
		return xty
	case y == blas.Trans:
		return xyt
	}
	return xy
}

// oriented is the rows and columns of a factor of a product.
func oriented(s tensor.Shape, t blas.Transpose) (rows, cols int) {
	if t == blas.Trans {
		return s[1], s[0]
	}
	return s[0], s[1]
}

// A product whose tiles would leave most of a card idle is cut along its depth into
// parts of at least leastDepth; up to mostTiles tiles in all.
const (
	tile       = 64
	leastDepth = 128
	mostTiles  = 256
)

// tiles is a grid of blocks for the tiles of matrices m×n.
func tiles(m, n, layers int) Grid {
	return box((n+tile-1)/tile, (m+tile-1)/tile, layers)
}

// parts is into how many parts a product m×n of depth k is cut, by the shape alone, and their
// depth.
func parts(m, n, k int) (cut, depth int) {
	g := tiles(m, n, 1)
	cut = max(1, min(mostTiles/(g.X*g.Y), k/leastDepth))
	depth = ((k+cut-1)/cut + 15) / 16 * 16
	return max(1, (k+depth-1)/depth), depth
}

// apart is how far the rows of a matrix lie apart, and the matrices of [pairs]: pair
// b·inner + h begins b·outer + h·inner elements from the first.
type apart struct{ row, outer, inner int }

// pairs are count pairs of matrices that one launch multiplies, inner for each outer step.
type pairs struct {
	count, inner           int
	apartX, apartY, apartZ apart
}

// product is the m×n matrix Z = op(X)·op(Y) of depth k, or that many pairs of such factors.
type product struct {
	of      layout
	z, x, y Memory
	m, n, k int
	pairs
}

// multiply makes the product of one pair.
func (d *Device) multiply(p product) {
	m, n, k := p.m, p.n, p.k
	p.pairs = pairs{count: 1, inner: 1, apartX: apart{row: k}, apartY: apart{row: n}, apartZ: apart{row: n}}
	switch p.of {
	case xyt:
		p.apartY.row = k
	case xty:
		p.apartX.row = m
	}
	cut, depth := parts(m, n, k)
	if cut == 1 {
		d.products(p, k)
		return
	}
	p.k, p.count, p.inner = depth, cut, cut
	p.apartX.inner, p.apartY.inner, p.apartZ.inner = depth, depth, m*n
	if p.of == xty {
		p.apartX.inner = depth * m
	}
	if p.of != xyt {
		p.apartY.inner = depth * n
	}
	whole := p.z
	p.z = d.Alloc(cut * m * n)
	d.products(p, k-(cut-1)*depth)
	d.launch("sum_parts", each(m*n), whole, p.z, m*n, cut)
	d.Free(p.z)
}

// mostLayers is how many pairs have blocks of their own.
const mostLayers = 1 << 15

// products multiplies all pairs, the last one of another depth.
func (d *Device) products(p product, last int) {
	name := [...]string{"product_nn", "product_nt", "product_tn"}[p.of]
	x, y, z := p.apartX, p.apartY, p.apartZ
	d.launch(name, tiles(p.m, p.n, min(p.count, mostLayers)), p.z, p.x, p.y, p.m, p.n, p.k, last, p.count, p.inner,
		x.row, x.outer, x.inner, y.row, y.outer, y.inner, z.row, z.outer, z.inner)
}

package op

import (
	"fmt"
	"sync"

	"gonum.org/v1/gonum/blas"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Conv is the two-dimensional convolution of neural networks, a correlation, of
// images X (N×C×H×W) with kernels W (O×C×k×l):
//
//	y_o(u, v) = Σ_c Σ_i Σ_j W_oc(i, j) x_c(s·u + i − pad, s·v + j − pad)
//
// x being 0 outside the image. Each image's patches become the columns of a
// C·k·l × H′·W′ matrix, and a product with the kernels as rows does the rest
// (im2col). Gorgonia's own Conv2d makes the matrix of the whole batch at once, and
// multiplies in its layout (upstream issue 297).
func Conv(stride, pad int) Op {
	if stride < 1 || pad < 0 {
		panic(fmt.Sprintf("op: a convolution of stride %d and padding %d", stride, pad))
	}
	return Op{conv{stride, pad}}
}

type conv struct{ Stride, Pad int }

var images = kind{dims: 4} // N×C×H×W

func (conv) signature() []kind { return []kind{images, images, images} }

func (o conv) shape(in []tensor.Shape) (tensor.Shape, error) {
	if in[0][1] != in[1][1] {
		return nil, errShapes
	}
	g := o.geometry(in[0], in[1])
	if g.outH < 1 || g.outW < 1 {
		return nil, errShapes
	}
	return tensor.Shape{in[0][0], in[1][0], g.outH, g.outW}, nil
}

func (o conv) run(out gorgonia.Value, in []gorgonia.Value) {
	g := o.geometry(in[0].Shape(), in[1].Shape())
	if isFloat32(out) {
		convolve(g, values[float32](out), values[float32](in[0]), values[float32](in[1]))
	} else {
		convolve(g, values[float64](out), values[float64](in[0]), values[float64](in[1]))
	}
}

func (conv) wrt() []bool { return []bool{true, true} }

func (o conv) grad(in gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c grads
	x, w := in[0].Shape(), in[1].Shape()
	dx := c.apply(Op{convInput{o, x[2], x[3]}}, g, in[1])
	dw := c.apply(Op{convKernel{o, w[2], w[3]}}, in[0], g)
	return gorgonia.Nodes{dx, dw}, c.err
}

// convInput is ∂L/∂X of a convolution, from G (N×O×H′×W′) and W.
type convInput struct {
	Of   conv
	H, W int
}

func (convInput) signature() []kind { return []kind{images, images, images} }

func (o convInput) shape(in []tensor.Shape) (tensor.Shape, error) {
	if in[0][1] != in[1][0] {
		return nil, errShapes
	}
	return tensor.Shape{in[0][0], in[1][1], o.H, o.W}, nil
}

func (o convInput) run(out gorgonia.Value, in []gorgonia.Value) {
	g := o.Of.geometry(out.Shape(), in[1].Shape())
	if isFloat32(out) {
		convolveBack(g, values[float32](out), values[float32](in[0]), values[float32](in[1]))
	} else {
		convolveBack(g, values[float64](out), values[float64](in[0]), values[float64](in[1]))
	}
}

// convKernel is ∂L/∂W of a convolution, from X and G.
type convKernel struct {
	Of     conv
	KH, KW int
}

func (convKernel) signature() []kind { return []kind{images, images, images} }

func (o convKernel) shape(in []tensor.Shape) (tensor.Shape, error) {
	if in[0][0] != in[1][0] {
		return nil, errShapes
	}
	return tensor.Shape{in[1][1], in[0][1], o.KH, o.KW}, nil
}

func (o convKernel) run(out gorgonia.Value, in []gorgonia.Value) {
	g := o.Of.geometry(in[0].Shape(), out.Shape())
	if isFloat32(out) {
		correlate(g, values[float32](out), values[float32](in[0]), values[float32](in[1]))
	} else {
		correlate(g, values[float64](out), values[float64](in[0]), values[float64](in[1]))
	}
}

// geometry is the sizes of one convolution.
type geometry struct {
	n, c, h, w   int // images
	o, kh, kw    int // kernels
	outH, outW   int
	stride, pad  int
	patch, place int // C·k·l values of a patch, H′·W′ places
}

func (o conv) geometry(x, w tensor.Shape) geometry {
	g := geometry{n: x[0], c: x[1], h: x[2], w: x[3], o: w[0], kh: w[2], kw: w[3], stride: o.Stride, pad: o.Pad}
	g.outH, g.outW = (g.h+2*g.pad-g.kh)/g.stride+1, (g.w+2*g.pad-g.kw)/g.stride+1
	g.patch, g.place = g.c*g.kh*g.kw, g.outH*g.outW
	return g
}

// plain tells whether the patches of an image are the image as it is.
func (g geometry) plain() bool { return g.kh == 1 && g.kw == 1 && g.stride == 1 && g.pad == 0 }

func convolve[F float](g geometry, y, x, w []F) {
	parallel(g.n, func(i int) {
		columns := x[i*g.c*g.h*g.w:]
		if !g.plain() {
			scratch := borrow[F](g.patch * g.place)
			defer scratch.back()
			columns = scratch.values
			unfold(g, columns, x[i*g.c*g.h*g.w:])
		}
		gemm(blas.NoTrans, blas.NoTrans, g.o, g.place, g.patch, w, g.patch, columns, g.place, 0, y[i*g.o*g.place:], g.place)
	})
}

func convolveBack[F float](g geometry, dx, dy, w []F) {
	parallel(g.n, func(i int) {
		image := dx[i*g.c*g.h*g.w : (i+1)*g.c*g.h*g.w]
		columns := image
		if !g.plain() {
			scratch := borrow[F](g.patch * g.place)
			defer scratch.back()
			columns = scratch.values
		}
		gemm(blas.Trans, blas.NoTrans, g.patch, g.place, g.o, w, g.patch, dy[i*g.o*g.place:], g.place, 0, columns, g.place)
		if !g.plain() {
			fold(g, image, columns)
		}
	})
}

// kernelGroups bounds the partial sums of a kernel's gradient. Their number depends
// on the batch alone, so that the order of additions does not depend on threads.
const kernelGroups = 16

func correlate[F float](g geometry, dw, x, dy []F) {
	groups := min(g.n, kernelGroups)
	sums := borrow[F](groups * g.patch * g.o) // of each group, patch×O
	defer sums.back()
	parallel(groups, func(group int) {
		sum := sums.values[group*g.patch*g.o : (group+1)*g.patch*g.o]
		var scratch *scratch[F]
		if !g.plain() {
			scratch = borrow[F](g.patch * g.place)
			defer scratch.back()
		}
		beta := F(0)
		for i := group; i < g.n; i += groups {
			columns := x[i*g.c*g.h*g.w:]
			if scratch != nil {
				columns = scratch.values
				unfold(g, columns, x[i*g.c*g.h*g.w:])
			}
			// (columns · dyᵀ)ᵀ rather than dy · columnsᵀ: the smaller of the two is turned
			gemm(blas.NoTrans, blas.Trans, g.patch, g.o, g.place, columns, g.place, dy[i*g.o*g.place:], g.place, beta, sum, g.o)
			beta = 1
		}
	})
	for o := range g.o {
		row := dw[o*g.patch : (o+1)*g.patch]
		clear(row)
		for group := range groups {
			for j, v := 0, sums.values[group*g.patch*g.o+o:]; j < g.patch; j++ {
				row[j] += v[j*g.o]
			}
		}
	}
}

// span is the places u … v−1 along a line whose source s·place + i − pad lies in
// 0…n−1.
func (g geometry) span(i, n, places int) (from, to int) {
	from = max(0, (g.pad-i+g.stride-1)/g.stride)
	to = min(places, (n-1+g.pad-i)/g.stride+1)
	if n-1+g.pad-i < 0 {
		to = 0
	}
	return min(from, max(to, 0)), max(to, 0)
}

// unfold writes the patches of an image x (C×H×W) as columns (patch×place).
func unfold[F float](g geometry, columns, x []F) {
	at := 0
	for c := range g.c {
		plane := x[c*g.h*g.w : (c+1)*g.h*g.w]
		for i := range g.kh {
			top, bottom := g.span(i, g.h, g.outH)
			for j := range g.kw {
				left, right := g.span(j, g.w, g.outW)
				dst := columns[at : at+g.place]
				at += g.place
				clear(dst[:top*g.outW])
				clear(dst[bottom*g.outW:])
				for u := top; u < bottom; u++ {
					line := plane[(u*g.stride+i-g.pad)*g.w:][:g.w]
					row := dst[u*g.outW : (u+1)*g.outW]
					clear(row[:left])
					clear(row[right:])
					if first := left*g.stride + j - g.pad; g.stride == 1 {
						copy(row[left:right], line[first:])
					} else {
						for v := left; v < right; v++ {
							row[v] = line[v*g.stride+j-g.pad]
						}
					}
				}
			}
		}
	}
}

// fold is the transpose of unfold: it adds each column's values to the pixels they
// came from.
func fold[F float](g geometry, x, columns []F) {
	clear(x)
	at := 0
	for c := range g.c {
		plane := x[c*g.h*g.w : (c+1)*g.h*g.w]
		for i := range g.kh {
			top, bottom := g.span(i, g.h, g.outH)
			for j := range g.kw {
				left, right := g.span(j, g.w, g.outW)
				src := columns[at : at+g.place]
				at += g.place
				for u := top; u < bottom; u++ {
					line := plane[(u*g.stride+i-g.pad)*g.w:][:g.w]
					row := src[u*g.outW : (u+1)*g.outW]
					if left >= right {
						continue
					}
					if first := left*g.stride + j - g.pad; g.stride == 1 {
						add(line[first:first+right-left], row[left:right])
					} else {
						for v := left; v < right; v++ {
							line[v*g.stride+j-g.pad] += row[v]
						}
					}
				}
			}
		}
	}
}

// add adds x to y, four at a time.
func add[F float](y, x []F) {
	for len(x) >= 4 && len(y) >= 4 {
		y[0] += x[0]
		y[1] += x[1]
		y[2] += x[2]
		y[3] += x[3]
		y, x = y[4:], x[4:]
	}
	for i, v := range x {
		y[i] += v
	}
}

// scratch is memory borrowed for the time of one call.
type scratch[F float] struct{ values []F }

var scratch32, scratch64 sync.Pool

// borrow gives n values that hold anything.
func borrow[F float](n int) *scratch[F] {
	s, ok := pool[F]().Get().(*scratch[F])
	if !ok {
		s = new(scratch[F])
	}
	if cap(s.values) < n {
		s.values = make([]F, n)
	}
	s.values = s.values[:n]
	return s
}

func (s *scratch[F]) back() { pool[F]().Put(s) }

func pool[F float]() *sync.Pool {
	var v F
	if _, single := any(v).(float32); single {
		return &scratch32
	}
	return &scratch64
}

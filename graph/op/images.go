package op

import (
	"fmt"

	"calibra/graph/work"

	"gonum.org/v1/gonum/blas"
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
	return Op{ConvOp{stride, pad}}
}

// ConvOp is the op of [Conv].
type ConvOp struct{ Stride, Pad int }

func (ConvOp) Signature() []Kind { return []Kind{Images, Images, Images} }

func (o ConvOp) Shape(in []Shape) (Shape, error) {
	if in[0][1] != in[1][1] {
		return nil, errShapes
	}
	g := o.geometry(in[0], in[1])
	if g.kh > g.h+2*g.pad || g.kw > g.w+2*g.pad { // not outH < 1: with a stride −1/2 is 0, and outH 1
		return nil, errShapes
	}
	return Shape{in[0][0], in[1][0], g.outH, g.outW}, nil
}

func (o ConvOp) Run(out Value, in []Value) { Dispatch(o, out, in, convolution, convolution) }

func convolution[F Float](o ConvOp, v Args[F]) {
	convolve(o.geometry(v.Shape(0), v.Shape(1)), v.Out(), v.In(0), v.In(1))
}

func (o ConvOp) Grad(in Nodes, _, g *Node) Nodes {
	x, w := in[0].Shape(), in[1].Shape()
	return Nodes{Op{ConvInputOp{o, x[2], x[3]}}.Of(g, in[1]), Op{ConvKernelOp{o, w[2], w[3]}}.Of(in[0], g)}
}

// ConvInputOp is ∂L/∂X of a convolution, from G (N×O×H′×W′) and W.
type ConvInputOp struct {
	Of   ConvOp
	H, W int
}

func (o ConvInputOp) Form() string              { return fmt.Sprintf("N O h w, O C k l -> N C %d %d", o.H, o.W) }
func (o ConvInputOp) Run(out Value, in []Value) { Dispatch(o, out, in, convolveBack, convolveBack) }

// ConvKernelOp is ∂L/∂W of a convolution, from X and G.
type ConvKernelOp struct {
	Of     ConvOp
	KH, KW int
}

func (o ConvKernelOp) Form() string              { return fmt.Sprintf("N C H W, N O h w -> O C %d %d", o.KH, o.KW) }
func (o ConvKernelOp) Run(out Value, in []Value) { Dispatch(o, out, in, correlate, correlate) }

// geometry is the sizes of one convolution.
type geometry struct {
	n, c, h, w   int // images
	o, kh, kw    int // kernels
	outH, outW   int
	stride, pad  int
	patch, place int // C·k·l values of a patch, H′·W′ places
}

func (o ConvOp) geometry(x, w Shape) geometry {
	g := geometry{n: x[0], c: x[1], h: x[2], w: x[3], o: w[0], kh: w[2], kw: w[3], stride: o.Stride, pad: o.Pad}
	g.outH, g.outW = (g.h+2*g.pad-g.kh)/g.stride+1, (g.w+2*g.pad-g.kw)/g.stride+1
	g.patch, g.place = g.c*g.kh*g.kw, g.outH*g.outW
	return g
}

// plain reports whether the patches of an image are the image as it is.
func (g geometry) plain() bool { return g.kh == 1 && g.kw == 1 && g.stride == 1 && g.pad == 0 }

func convolve[F Float](g geometry, y, x, w []F) {
	if g.stride == 1 && g.c >= fewChannels && !g.plain() {
		convolveShifted(g, y, x, w)
		return
	}
	work.Each(g.n, 1, func(i int) {
		columns, back := columnsOf(g, x, i)
		defer back()
		gemm(blas.NoTrans, blas.NoTrans, g.o, g.place, g.patch, w, g.patch, columns, g.place, 0, y[i*g.o*g.place:], g.place)
	})
}

// fewChannels is how many channels make patches cheaper than shifts, whose products
// are that deep.
const fewChannels = 8

// convolveShifted makes no patches: the bordered image read from its (i, j)-th pixel
// on is, row after row, all the places' (i, j)-th pixels with a border between the
// rows. So one product of O×C with C×places for each (i, j) adds up to the result.
func convolveShifted[F Float](g geometry, y, x, w []F) {
	high, wide := g.h+2*g.pad, g.w+2*g.pad
	kernels := borrow[F](len(w)) // (i, j)×O×C
	defer kernels.back()
	area := g.kh * g.kw
	for at, v := range w {
		kernels.values[at%area*g.o*g.c+at/area] = v
	}
	span := (g.outH-1)*wide + g.outW
	work.Each(g.n, 1, func(n int) {
		scratch := borrow[F](g.c*high*wide + g.o*span)
		defer scratch.back()
		bordered, sum := scratch.values[:g.c*high*wide], scratch.values[g.c*high*wide:]
		border(g, bordered, x[n*g.c*g.h*g.w:])
		for at := range area {
			gemm(blas.NoTrans, blas.NoTrans, g.o, span, g.c, kernels.values[at*g.o*g.c:], g.c,
				bordered[at/g.kw*wide+at%g.kw:], high*wide, F(min(at, 1)), sum, span)
		}
		out := y[n*g.o*g.place:]
		for o := range g.o {
			for u := range g.outH {
				copy(out[:g.outW], sum[o*span+u*wide:])
				out = out[g.outW:]
			}
		}
	})
}

// border writes an image within g.pad zeros on every side.
func border[F Float](g geometry, bordered, image []F) {
	high, wide := g.h+2*g.pad, g.w+2*g.pad
	if g.pad > 0 {
		clear(bordered)
	}
	for c := range g.c {
		for u := range g.h {
			at := (c*high+u+g.pad)*wide + g.pad
			copy(bordered[at:at+g.w], image)
			image = image[g.w:]
		}
	}
}

// convolveBack convolves G by the kernels turned around where the stride is 1; where
// it is not, the products go back to the pixels they came from.
func convolveBack[F Float](o ConvInputOp, v Args[F]) {
	g, dx, dy, w := o.Of.geometry(v.OutShape(), v.Shape(1)), v.Out(), v.In(0), v.In(1)
	if g.stride == 1 && g.pad < g.kh && g.pad < g.kw && g.kh == g.kw {
		turned := borrow[F](len(w))
		defer turned.back()
		turn(g, turned.values, w)
		b := geometry{n: g.n, c: g.o, h: g.outH, w: g.outW, o: g.c, kh: g.kh, kw: g.kw, outH: g.h, outW: g.w, stride: 1, pad: g.kh - 1 - g.pad}
		b.patch, b.place = b.c*b.kh*b.kw, b.outH*b.outW
		convolve(b, dx, dy, turned.values)
		return
	}
	work.Each(g.n, 1, func(i int) {
		scratch := borrow[F](g.patch * g.place)
		defer scratch.back()
		gemm(blas.Trans, blas.NoTrans, g.patch, g.place, g.o, w, g.patch, dy[i*g.o*g.place:], g.place, 0, scratch.values, g.place)
		fold(g, dx[i*g.c*g.h*g.w:(i+1)*g.c*g.h*g.w], scratch.values)
	})
}

// turn writes the kernels from O to C channels as kernels from C to O, each turned by
// half a circle.
func turn[F Float](g geometry, turned, w []F) {
	area := g.kh * g.kw
	for o := range g.o {
		for c := range g.c {
			from, to := w[(o*g.c+c)*area:][:area], turned[(c*g.o+o)*area:][:area]
			for i, v := range from {
				to[area-1-i] = v
			}
		}
	}
}

// columnsOf is the patches of image i of x as columns (patch×place), until back is
// called.
func columnsOf[F Float](g geometry, x []F, i int) (columns []F, back func()) {
	image := x[i*g.c*g.h*g.w : (i+1)*g.c*g.h*g.w]
	if g.plain() {
		return image, func() {}
	}
	// The image within its border of zeros comes after the columns.
	high, wide := g.h+2*g.pad, g.w+2*g.pad
	scratch := borrow[F](g.patch*g.place + g.c*high*wide)
	columns, bordered := scratch.values[:g.patch*g.place], scratch.values[g.patch*g.place:]
	border(g, bordered, image)
	unfold(g, columns, bordered)
	return columns, scratch.back
}

// unfold writes the patches of a bordered image as columns.
func unfold[F Float](g geometry, columns, bordered []F) {
	high, wide := g.h+2*g.pad, g.w+2*g.pad
	for c := range g.c {
		plane := bordered[c*high*wide : (c+1)*high*wide]
		for i := range g.kh {
			for j := range g.kw {
				for u := range g.outH {
					row, line := columns[:g.outW], plane[(u*g.stride+i)*wide+j:]
					if g.stride == 1 {
						copy(row, line)
					} else {
						for v := range row {
							row[v] = line[v*g.stride]
						}
					}
					columns = columns[g.outW:]
				}
			}
		}
	}
}

// kernelGroups bounds the partial sums of a kernel's gradient. Their number depends
// on the batch alone, so that the order of additions does not depend on threads.
const kernelGroups = 16

func correlate[F Float](o ConvKernelOp, v Args[F]) {
	g, dw, x, dy := o.Of.geometry(v.Shape(0), v.OutShape()), v.Out(), v.In(0), v.In(1)
	groups := min(g.n, kernelGroups)
	sums := borrow[F](groups * g.patch * g.o) // of each group, patch×O
	defer sums.back()
	work.Each(groups, 1, func(group int) {
		sum := sums.values[group*g.patch*g.o : (group+1)*g.patch*g.o]
		beta := F(0)
		for i := group; i < g.n; i += groups {
			columns, back := columnsOf(g, x, i)
			// (columns · dyᵀ)ᵀ rather than dy · columnsᵀ: the smaller of the two is turned
			gemm(blas.NoTrans, blas.Trans, g.patch, g.o, g.place, columns, g.place, dy[i*g.o*g.place:], g.place, beta, sum, g.o)
			beta = 1
			back()
		}
	})
	for o := range g.o { // a kernel
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

// fold is the transpose of unfold: it adds each column's values to the pixels they
// came from.
func fold[F Float](g geometry, x, columns []F) {
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
					for v := left; v < right; v++ {
						line[v*g.stride+j-g.pad] += row[v]
					}
				}
			}
		}
	}
}

// PlaneMean is the mean of each plane of images (N×C×H×W), an N×C matrix: global
// average pooling.
func PlaneMean() Op { return Op{PlaneMeanOp{}} }

// PlaneMeanOp is the op of [PlaneMean].
type PlaneMeanOp struct{}

func (PlaneMeanOp) Form() string                { return "N C H W -> N C" }
func (o PlaneMeanOp) Run(out Value, in []Value) { Dispatch(o, out, in, planeMeans, planeMeans) }

func planeMeans[F Float](_ PlaneMeanOp, v Args[F]) {
	mean, x := v.Out(), v.In(0)
	area := len(x) / len(mean)
	for i := range mean {
		mean[i] = sumOf(x[i*area:(i+1)*area]) / F(area)
	}
}

func (PlaneMeanOp) Grad(in Nodes, _, g *Node) Nodes {
	return Nodes{Op{PlaneSpreadOp{in[0].Shape()[2], in[0].Shape()[3]}}.Of(g)}
}

// PlaneSpreadOp gives each place of a plane an equal part of g, the transpose of
// planeMean.
type PlaneSpreadOp struct{ H, W int }

func (o PlaneSpreadOp) Form() string              { return fmt.Sprintf("N C -> N C %d %d", o.H, o.W) }
func (o PlaneSpreadOp) Run(out Value, in []Value) { Dispatch(o, out, in, spreadPlanes, spreadPlanes) }

func spreadPlanes[F Float](_ PlaneSpreadOp, v Args[F]) {
	out, g := v.Out(), v.In(0)
	area := len(out) / len(g)
	for i, x := range g {
		fillWith(out[i*area:(i+1)*area], x/F(area))
	}
}

// Augment shifts each image of X (B×(C·H·W)) by up to pad pixels along both axes,
// zeros coming in, and mirrors it with the given probability: the random crop and
// flip of He et al. (2016, section 4.2). What happens to an image is a hash of the seed, the step
// number t (1) and the image's place in the batch, as in [Dropout]. Images are
// data: they have no derivative.
func Augment(channels, height, width, pad int, mirror float64, seed uint64) Op {
	if pad < 0 || pad >= height || pad >= width {
		panic(fmt.Sprintf("op: %d×%d images shifted by up to %d pixels", height, width, pad))
	}
	return Op{AugmentOp{C: channels, H: height, W: width, Pad: pad, Mirror: mirror, Seed: seed}}
}

// AugmentOp is the op of [Augment].
type AugmentOp struct {
	C, H, W, Pad int
	Mirror       float64
	Seed         uint64
}

func (o AugmentOp) Form() string              { return fmt.Sprintf("B %[1]d, 1 -> B %[1]d", o.C*o.H*o.W) }
func (o AugmentOp) Run(out Value, in []Value) { Dispatch(o, out, in, augment, augment) }

func augment[F Float](o AugmentOp, v Args[F]) {
	out, x, t := v.Out(), v.In(0), uint64(v.In(1)[0])
	size, area, shifts := o.C*o.H*o.W, o.H*o.W, uint64(2*o.Pad+1)
	key := mix(o.Seed + mix(t))
	work.Each(len(x)/size, 1, func(i int) {
		draw := mix(key + uint64(i))
		down, right := int(draw%shifts)-o.Pad, int(draw/shifts%shifts)-o.Pad
		mirrored := float64(mix(draw)>>11) < o.Mirror*(1<<53)
		image, dst := x[i*size:(i+1)*size], out[i*size:(i+1)*size]
		clear(dst)
		for c := range o.C {
			for u := max(0, -down); u < min(o.H, o.H-down); u++ {
				from := image[c*area+(u+down)*o.W:][:o.W]
				to := dst[c*area+u*o.W:][:o.W]
				for v := max(0, -right); v < min(o.W, o.W-right); v++ {
					if mirrored {
						to[o.W-1-v] = from[v+right]
					} else {
						to[v] = from[v+right]
					}
				}
			}
		}
	})
}

package op

import (
	"math"

	"calibra/graph/simd"
	"calibra/graph/work"
)

// LogSoftmax is x_j − log Σ_l exp x_l along each row of X (B×C), computed from the
// row's maximum so that no finite input overflows.
//
// Gorgonia's own LogSoftMax cannot stand beside its SoftMax of the same input: the
// two hash to one node.
func LogSoftmax() Op { return Op{LogSoftmaxOp{Matrix}} }

// LogSoftmaxVector is [LogSoftmax] of a vector (C).
func LogSoftmaxVector() Op { return Op{LogSoftmaxOp{Vector}} }

// LogSoftmaxOp is the op of [LogSoftmax].
type LogSoftmaxOp struct{ Of Kind }

func (o LogSoftmaxOp) Form() string              { return AlikeByRow(o.Of, 1) }
func (o LogSoftmaxOp) Run(out Value, in []Value) { Dispatch(o, out, in, logSoftmax, logSoftmax) }

func logSoftmax[F Float](_ LogSoftmaxOp, v Args[F]) {
	out, x, c := v.Out(), v.In(0), columns(v.out)
	rows := pick[func(out, x []F, c int)](LogSoftmaxRows, logSoftmaxRows64)
	if len(x) <= few {
		rows(out, x, c)
		return
	}
	work.Ranges(len(x), cachedRows(c)*c, func(lo, hi int) { rows(out[lo:hi], x[lo:hi], c) })
}

// LogSoftmaxRows normalizes each row of x (B×C) into out, which may be x, but is faster where it is not.
func LogSoftmaxRows(out, x []float32, c int) {
	memory := borrow[float32](len(x))
	defer memory.back()
	e := memory.values
	var sums [abreast]float32
	simd.LessMost(out, x, c) // a NaN stays in the row, and makes all of it NaN
	simd.Exp(e, out)
	for b := 0; b < len(x); b += c {
		at := b / c % abreast
		if at == 0 {
			sumsAbreast(&sums, e[b:], c)
		}
		logSum := float32(math.Log(float64(sums[at])))
		for j := b; j < b+c; j++ {
			out[j] -= logSum
		}
	}
}

// cachedRows is how many rows of c numbers stay in a cache.
func cachedRows(c int) int { return max(1, 1<<13/c) }

// abreast is how many rows are summed side by side, as long as an addition takes.
const abreast = 4

// sumsAbreast is the sums of the first rows of x, C long, each in the order of its elements.
func sumsAbreast[F Float](sums *[abreast]F, x []F, c int) {
	if len(x) < abreast*c {
		for i := range len(x) / c {
			sums[i] = 0
			for _, v := range x[i*c : (i+1)*c] {
				sums[i] += v
			}
		}
		return
	}
	var s0, s1, s2, s3 F
	x0, x1, x2, x3 := x[:c], x[c:][:c], x[2*c:][:c], x[3*c:][:c]
	for j, v := range x0 {
		s0, s1, s2, s3 = s0+v, s1+x1[j], s2+x2[j], s3+x3[j]
	}
	*sums = [abreast]F{s0, s1, s2, s3}
}

// logSoftmaxRows64 is [LogSoftmaxRows] in double precision.
func logSoftmaxRows64(out, x []float64, c int) {
	memory := borrow[float64](len(x))
	defer memory.back()
	e := memory.values
	var sums [abreast]float64
	lessMost(e, x, c)
	simd.ExpNegative64(e, e) // beside the largest, e⁻³⁰⁰ is as good as less
	for b := 0; b < len(x); b += c {
		at := b / c % abreast
		if at == 0 {
			sumsAbreast(&sums, e[b:], c)
		}
		logSum := largest(x[b:b+c]) + math.Log(sums[at])
		for j := b; j < b+c; j++ {
			out[j] = x[j] - logSum
		}
	}
}

// largest is that of row, by comparisons that do not wait for each other.
func largest[F Float](row []F) F {
	a, b, c, d := row[0], row[0], row[0], row[0]
	for ; len(row) >= 4; row = row[4:] {
		a, b, c, d = max(a, row[0]), max(b, row[1]), max(c, row[2]), max(d, row[3])
	}
	for _, v := range row {
		a = max(a, v)
	}
	return max(a, b, c, d)
}

// lessMost sets z to x (B×C) less the largest of its row; z may be x.
func lessMost[F Float](z, x []F, c int) {
	for b := 0; b < len(x); b += c {
		top := largest(x[b : b+c])
		for j := b; j < b+c; j++ {
			z[j] = x[j] - top
		}
	}
}

func (o LogSoftmaxOp) Grad(_ Nodes, out, g *Node) Nodes {
	return Nodes{Op{LogSoftmaxGradOp(o)}.Of(out, g)}
}

// LogSoftmaxGradOp is g_j − p_j Σ_l g_l with p = exp(log p), from log p and g.
type LogSoftmaxGradOp struct{ Of Kind }

func (o LogSoftmaxGradOp) Form() string { return AlikeByRow(o.Of, 2) }
func (o LogSoftmaxGradOp) Run(out Value, in []Value) {
	Dispatch(o, out, in, logSoftmaxGradients, logSoftmaxGradients)
}

func logSoftmaxGradients[F Float](_ LogSoftmaxGradOp, v Args[F]) {
	p, logp, g, c := v.Out(), v.In(0), v.In(1), columns(v.out)
	if len(g) <= few {
		gradientsOfRows(p, logp, g, c)
		return
	}
	work.Ranges(len(g), cachedRows(c)*c, func(lo, hi int) { gradientsOfRows(p[lo:hi], logp[lo:hi], g[lo:hi], c) })
}

func gradientsOfRows[F Float](p, logp, g []F, c int) {
	pick[func(dst, x []F)](simd.Exp, exp64)(p, logp)
	var sums [abreast]F
	for b := 0; b < len(g); b += c {
		at := b / c % abreast
		if at == 0 {
			sumsAbreast(&sums, g[b:], c)
		}
		sum := sums[at]
		for j := b; j < b+c; j++ {
			p[j] = g[j] - p[j]*sum
		}
	}
}

// Softmax is exp x_j / Σ_l exp x_l along each row of X (B×C), from the row's
// maximum, so that no finite input overflows.
func Softmax() Op { return Op{SoftmaxOp{}} }

// SoftmaxOp is the op of [Softmax].
type SoftmaxOp struct{}

func (SoftmaxOp) Form() string                { return AlikeByRow(Matrix, 1) }
func (o SoftmaxOp) Run(out Value, in []Value) { Dispatch(o, out, in, softmax, softmax) }

func softmax[F Float](_ SoftmaxOp, v Args[F]) {
	out, x, c := v.Out(), v.In(0), v.Columns(0)
	exp := pick[func(dst, x []F)](simd.Exp, exp64)
	work.Ranges(len(x)/c, rowBlock, func(lo, hi int) {
		lessMost(out[lo*c:hi*c], x[lo*c:hi*c], c)
		exp(out[lo*c:hi*c], out[lo*c:hi*c])
		for at := lo * c; at < hi*c; at += c {
			row := out[at : at+c]
			scaleTo(row, row, 1/sumOf(row))
		}
	})
}

// exp64 is eˣ for x ≤ 0 in double precision.
func exp64(dst, x []float64) {
	for _, v := range x {
		if !(v >= -300) { // of a mask it is 0
			for i, v := range x {
				dst[i] = math.Exp(v)
			}
			return
		}
	}
	simd.ExpNegative64(dst, x)
}

func (SoftmaxOp) Grad(_ Nodes, out, g *Node) Nodes { return Nodes{Op{SoftmaxGradOp{}}.Of(out, g)} }

// SoftmaxGradOp is y_j (g_j − Σ_l g_l y_l), from y = Softmax(x) and g.
type SoftmaxGradOp struct{}

func (SoftmaxGradOp) Form() string { return AlikeByRow(Matrix, 2) }
func (o SoftmaxGradOp) Run(out Value, in []Value) {
	Dispatch(o, out, in, softmaxGradients, softmaxGradients)
}

func softmaxGradients[F Float](_ SoftmaxGradOp, v Args[F]) {
	out, y, g, c := v.Out(), v.In(0), v.In(1), v.Columns(0)
	work.Each(len(y)/c, rowBlock, func(i int) {
		row, gradients, dst := y[i*c:(i+1)*c], g[i*c:(i+1)*c], out[i*c:(i+1)*c]
		mean := centredProduct(row, 0, gradients)
		for j, v := range row {
			dst[j] = v * (gradients[j] - mean)
		}
	})
}

package onnx

import (
	"math"

	"calibra/graph/blas"

	gonum "gonum.org/v1/gonum/blas"
)

// kernel computes an operator: it sets what it gives by what it reads.
type kernel func(in, out []*array, a attributes)

// attributes are those of an operator, by their names.
type attributes map[string]any

// whole is an attribute of a whole number, 0 where it is not there.
func (a attributes) whole(name string) int {
	n, _ := a[name].(int)
	return n
}

// list is an attribute of several whole numbers.
func (a attributes) list(name string) []int { return a[name].([]int) }

// kernels are the operators that networks of this package have.
var kernels = map[string]kernel{
	"Add": arithmetic(func(x, y float64) float64 { return x + y }, func(x, y int) int { return x + y }),
	"Sub": arithmetic(func(x, y float64) float64 { return x - y }, func(x, y int) int { return x - y }),
	"Mul": arithmetic(func(x, y float64) float64 { return x * y }, func(x, y int) int { return x * y }),
	"Div": arithmetic(func(x, y float64) float64 { return x / y }, func(x, y int) int { return x / y }),
	"Max": arithmetic(math.Max, func(x, y int) int { return max(x, y) }),
	"Min": arithmetic(math.Min, func(x, y int) int { return min(x, y) }),

	"Less": relation(func(x, y float64) bool { return x < y }), "LessOrEqual": relation(func(x, y float64) bool { return x <= y }),
	"Greater": relation(func(x, y float64) bool { return x > y }),

	"Exp": unary(math.Exp), "Log": unary(math.Log), "Neg": unary(func(x float64) float64 { return -x }),
	"Relu": unary(func(x float64) float64 { return max(x, 0) }), "Sigmoid": unary(func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }),
	logGammaOp: unary(func(x float64) float64 { y, _ := math.Lgamma(x); return y }),

	"Where": choose, "IsNaN": isNaN, "Cast": cast, "Identity": copyOf, "MatMul": matMul, "Transpose": transpose,
	"Reshape": reshape, "Shape": shapeOf, "ConstantOfShape": constantOf, "Concat": concat, "Slice": slice, "Gather": gather,
	"GatherElements": gatherElements, "ScatterElements": scatterElements,
	"ReduceSum": func(in, out []*array, a attributes) {
		reduce(in[0], out[0], in[1].whole, a.whole("keepdims") == 1, 0, func(s, x float64) float64 { return s + x })
	},
	"ReduceMax": func(in, out []*array, a attributes) {
		reduce(in[0], out[0], a.list("axes"), a.whole("keepdims") == 1, math.Inf(-1), math.Max)
	},
	"ReduceProd": func(in, out []*array, a attributes) {
		reduce(in[0], out[0], a.list("axes"), a.whole("keepdims") == 1, 1, func(s, x float64) float64 { return s * x })
	},
	"ArgMax": argMax, "TopK": topK, "Softmax": softmax(false), "LogSoftmax": softmax(true), treesOp: treeEnsemble,
}

// combine sets out to f of x and y, broadcast to one shape.
func combine[T, U any](to []U, shape []int, x, y []T, of [2]*array, f func(x, y T) U) {
	switch {
	case len(x) == len(to) && len(y) == len(to):
		for i, v := range x {
			to[i] = f(v, y[i])
		}
		return
	case len(y) == 1 && len(x) == len(to):
		for i, v := range x {
			to[i] = f(v, y[0])
		}
		return
	}
	first, second := of[0].steps(shape), of[1].steps(shape)
	run := 1
	if n := len(shape); n > 0 {
		run = shape[n-1]
	}
	byX, byY := first[max(0, len(shape)-1)], second[max(0, len(shape)-1)]
	each(shape, func(at int, from [3]int) {
		i, j := from[0], from[1]
		for k := range run {
			to[at+k] = f(x[i], y[j])
			i, j = i+byX, j+byY
		}
	}, first, second)
}

func arithmetic(double func(x, y float64) float64, whole func(x, y int) int) kernel {
	return func(in, out []*array, _ attributes) {
		x, y, to := in[0], in[1], out[0]
		broadcast(to, x.kind, x, y)
		of := [2]*array{x, y}
		if x.kind == Double {
			combine(to.doubles, to.shape, x.doubles, y.doubles, of, double)
		} else {
			combine(to.whole, to.shape, x.whole, y.whole, of, whole)
		}
	}
}

func relation(holds func(x, y float64) bool) kernel {
	return func(in, out []*array, _ attributes) {
		broadcast(out[0], Truth, in...)
		combine(out[0].truth, out[0].shape, in[0].doubles, in[1].doubles, [2]*array{in[0], in[1]}, holds)
	}
}

func unary(f func(x float64) float64) kernel {
	return func(in, out []*array, _ attributes) {
		out[0].like(in[0], Double)
		for i, x := range in[0].doubles {
			out[0].doubles[i] = f(x)
		}
	}
}

// choose is x where the condition holds, else y.
func choose(in, out []*array, _ attributes) {
	condition, x, y, to := in[0], in[1], in[2], out[0]
	broadcast(to, Double, in...)
	last := max(0, len(to.shape)-1)
	a, b, c := condition.steps(to.shape), x.steps(to.shape), y.steps(to.shape)
	run := 1
	if len(to.shape) > 0 {
		run = to.shape[last]
	}
	each(to.shape, func(at int, from [3]int) {
		for k := range run {
			if condition.truth[from[0]+k*a[last]] {
				to.doubles[at+k] = x.doubles[from[1]+k*b[last]]
			} else {
				to.doubles[at+k] = y.doubles[from[2]+k*c[last]]
			}
		}
	}, a, b, c)
}

func isNaN(in, out []*array, _ attributes) {
	out[0].like(in[0], Truth)
	for i, x := range in[0].doubles {
		out[0].truth[i] = math.IsNaN(x)
	}
}

func cast(in, out []*array, a attributes) {
	x, to := in[0], out[0]
	to.like(x, Element(a.whole("to")))
	for i := range x.size() {
		var v float64
		switch x.kind {
		case Double:
			v = x.doubles[i]
		case Single:
			v = float64(x.singles[i])
		case Int64:
			v = float64(x.whole[i])
		default:
			if x.truth[i] {
				v = 1
			}
		}
		switch to.kind {
		case Double:
			to.doubles[i] = v
		case Single:
			to.singles[i] = float32(v)
		default:
			to.whole[i] = int(v)
		}
	}
}

func copyOf(in, out []*array, _ attributes) { in[0].reshaped(out[0], in[0].shape) }

// reshaped copies x to out with another shape.
func (x *array) reshaped(out *array, shape []int) {
	out.set(x.kind, shape...)
	copy(out.doubles, x.doubles)
	copy(out.singles, x.singles)
	copy(out.whole, x.whole)
	copy(out.truth, x.truth)
}

// matMul multiplies the last two axes; those before them are equal, or one of the two has none.
func matMul(in, out []*array, _ attributes) {
	x, y, to := in[0], in[1], out[0]
	m, k, n := x.shape[len(x.shape)-2], x.shape[len(x.shape)-1], y.shape[len(y.shape)-1]
	to.kind, to.shape = Double, append(append(to.shape[:0], x.shape[:len(x.shape)-1]...), n)
	batches, stepY := product(x.shape[:len(x.shape)-2]), k*n
	if len(y.shape) == 2 { // one matrix for all
		m, batches, stepY = m*batches, 1, 0
	}
	to.grow(to.size())
	for b := range batches {
		a, c := x.doubles[b*m*k:][:m*k], to.doubles[b*m*n:][:m*n]
		blas.Current().Dgemm(gonum.NoTrans, gonum.NoTrans, m, n, k, 1, a, k, y.doubles[b*stepY:][:k*n], n, 0, c, n)
	}
}

func transpose(in, out []*array, _ attributes) {
	rows, columns := in[0].shape[0], in[0].shape[1]
	out[0].set(Double, columns, rows)
	for at, v := range in[0].doubles {
		out[0].doubles[at%columns*rows+at/columns] = v
	}
}

func reshape(in, out []*array, _ attributes) {
	var shape [mostAxes]int
	axes, known, open := len(in[1].whole), 1, -1
	for k, d := range in[1].whole {
		if shape[k] = d; d == 0 {
			shape[k] = in[0].shape[k]
		}
		if d == -1 {
			open = k
		} else {
			known *= shape[k]
		}
	}
	if open >= 0 {
		shape[open] = in[0].size() / max(known, 1)
	}
	in[0].reshaped(out[0], shape[:axes])
}

func shapeOf(in, out []*array, _ attributes) {
	out[0].set(Int64, len(in[0].shape))
	copy(out[0].whole, in[0].shape)
}

func constantOf(in, out []*array, a attributes) {
	value := a["value"].(*array)
	out[0].set(value.kind, in[0].whole...)
	for i := range out[0].doubles {
		out[0].doubles[i] = value.doubles[0]
	}
}

func concat(in, out []*array, a attributes) {
	var shape [mostAxes]int
	axes, axis := copy(shape[:], in[0].shape), a.whole("axis")
	if axis < 0 {
		axis += axes
	}
	for _, x := range in[1:] {
		shape[axis] += x.shape[axis]
	}
	to := out[0]
	to.set(in[0].kind, shape[:axes]...)
	before, _, _ := to.around(axis)
	at := 0
	for b := range before {
		for _, x := range in {
			_, n, behind := x.around(axis)
			n *= behind
			if to.kind == Double {
				copy(to.doubles[at:], x.doubles[b*n:][:n])
			} else {
				copy(to.whole[at:], x.whole[b*n:][:n])
			}
			at += n
		}
	}
}

// slice is what lies in [from, to) of one axis.
func slice(in, out []*array, _ attributes) {
	x, from, end, axis, to := in[0], in[1].whole[0], in[2].whole[0], in[3].whole[0], out[0]
	before, n, behind := x.around(axis)
	if axis < 0 {
		axis += len(x.shape)
	}
	end = min(end, n)
	to.kind, to.shape = x.kind, append(to.shape[:0], x.shape...)
	to.shape[axis] = end - from
	to.grow(to.size())
	width := (end - from) * behind
	for b := range before {
		lo := (b*n + from) * behind
		if x.kind == Double {
			copy(to.doubles[b*width:], x.doubles[lo:][:width])
		} else {
			copy(to.whole[b*width:], x.whole[lo:][:width])
		}
	}
}

// gather takes, along an axis, what index names.
func gather(in, out []*array, a attributes) {
	x, index, axis, to := in[0], in[1], a.whole("axis"), out[0]
	before, n, behind := x.around(axis)
	to.kind, to.shape = x.kind, append(append(append(to.shape[:0], x.shape[:axis]...), index.shape...), x.shape[axis+1:]...)
	to.grow(to.size())
	for b := range before {
		for k, i := range index.whole {
			if i < 0 {
				i += n
			}
			from, at := (b*n+i)*behind, (b*len(index.whole)+k)*behind
			if x.kind == Double {
				copy(to.doubles[at:], x.doubles[from:][:behind])
			} else {
				copy(to.whole[at:], x.whole[from:][:behind])
			}
		}
	}
}

// gatherElements takes x[index[i][j]][j], along axis 0.
func gatherElements(in, out []*array, _ attributes) {
	x, index := in[0], in[1]
	out[0].like(index, x.kind)
	columns := x.shape[1]
	for at, i := range index.whole {
		out[0].doubles[at] = x.doubles[i*columns+at%columns]
	}
}

// scatterElements adds each update to the place of its row that index names.
func scatterElements(in, out []*array, _ attributes) {
	in[0].reshaped(out[0], in[0].shape)
	width, columns := in[1].shape[1], in[0].shape[1]
	for at, k := range in[1].whole {
		out[0].doubles[at/width*columns+k] += in[2].doubles[at]
	}
}

// reduce folds one axis.
func reduce(x, to *array, axes []int, keep bool, start float64, f func(sum, x float64) float64) {
	before, n, behind := x.around(axes[0])
	x.without(to, axes[0], keep)
	for b := range before {
		for k := range behind {
			sum := start
			for i := range n {
				if at := (b*n+i)*behind + k; x.kind == Double {
					sum = f(sum, x.doubles[at])
				} else {
					sum = f(sum, float64(x.whole[at]))
				}
			}
			if at := b*behind + k; x.kind == Double {
				to.doubles[at] = sum
			} else {
				to.whole[at] = int(sum)
			}
		}
	}
}

// argMax is the place of the largest of each row, the first of equals.
func argMax(in, out []*array, a attributes) {
	rows, n, _ := in[0].around(a.whole("axis"))
	in[0].without(out[0], a.whole("axis"), a.whole("keepdims") == 1)
	out[0].kind = Int64
	out[0].grow(rows)
	for b := range rows {
		row, first := in[0].doubles[b*n:][:n], 0
		for k, v := range row {
			if v > row[first] {
				first = k
			}
		}
		out[0].whole[b] = first
	}
}

// topK are the largest of each row with their places, the first of equals first.
func topK(in, out []*array, _ attributes) {
	x, most := in[0], in[1].whole[0]
	rows, n, _ := x.around(-1)
	for k, kind := range []Element{Double, Int64} {
		out[k].like(x, kind)
		out[k].shape[len(x.shape)-1] = most
		out[k].grow(rows * most)
	}
	for b := range rows {
		values, places, found := out[0].doubles[b*most:][:most], out[1].whole[b*most:][:most], 0
		for k, v := range x.doubles[b*n:][:n] {
			if found == most && v <= values[most-1] {
				continue
			}
			at := min(found, most-1)
			found = at + 1
			for ; at > 0 && values[at-1] < v; at-- {
				values[at], places[at] = values[at-1], places[at-1]
			}
			values[at], places[at] = v, k
		}
	}
}

// softmax normalizes each row, or its logarithm.
func softmax(log bool) kernel {
	return func(in, out []*array, _ attributes) {
		x, to := in[0], out[0]
		to.like(x, Double)
		rows, n, _ := x.around(-1)
		for b := range rows {
			row, y := x.doubles[b*n:][:n], to.doubles[b*n:][:n]
			top, sum := math.Inf(-1), 0.0
			for _, v := range row {
				top = math.Max(top, v)
			}
			for k, v := range row {
				y[k] = math.Exp(v - top)
				sum += y[k]
			}
			for k, v := range row {
				if log {
					y[k] = v - top - math.Log(sum)
				} else {
					y[k] /= sum
				}
			}
		}
	}
}

package op

import (
	"math"
	"sync"

	"calibra/graph/simd"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
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

func (o LogSoftmaxOp) Signature() []Kind { return []Kind{o.Of, o.Of} }

func (LogSoftmaxOp) Shape(in []tensor.Shape) (tensor.Shape, error) { return SameShape(in) }

func (LogSoftmaxOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	c := columns(out)
	if IsFloat32(out) {
		LogSoftmaxRows(Values[float32](out), Values[float32](in[0]), c)
	} else {
		logSoftmaxRows(Values[float64](out), Values[float64](in[0]), c)
	}
}

// LogSoftmaxRows normalizes each row of x (B×C) into out, which may be x.
func LogSoftmaxRows(out, x []float32, c int) {
	memory := exponentials.Get().(*[]float32)
	if cap(*memory) < len(x) {
		*memory = make([]float32, len(x))
	}
	e := (*memory)[:len(x)]
	for b := 0; b < len(x); b += c {
		row, dst := x[b:b+c], out[b:b+c]
		top := row[0]
		for _, v := range row[1:] {
			if v > top { // a NaN stays in the row, and makes all of it NaN
				top = v
			}
		}
		for j, v := range row {
			dst[j] = v - top
		}
	}
	simd.Exp(e, out)
	for b := 0; b < len(x); b += c {
		var sum float32
		for _, v := range e[b : b+c] {
			sum += v
		}
		logSum := float32(math.Log(float64(sum)))
		for j := b; j < b+c; j++ {
			out[j] -= logSum
		}
	}
	exponentials.Put(memory)
}

var exponentials = sync.Pool{New: func() any { return new([]float32) }}

func logSoftmaxRows[F Float](out, x []F, c int) {
	for b := 0; b < len(x); b += c {
		row := x[b : b+c]
		top := row[0]
		for _, v := range row[1:] {
			top = max(top, v)
		}
		var sum float64
		for _, v := range row {
			sum += math.Exp(float64(v - top))
		}
		logSum := top + F(math.Log(sum))
		for j, v := range row {
			out[b+j] = v - logSum
		}
	}
}

func (LogSoftmaxOp) WRT() []bool { return []bool{true} }

func (o LogSoftmaxOp) Grad(_ gorgonia.Nodes, out, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c Grads
	return gorgonia.Nodes{c.Apply(Op{LogSoftmaxGradOp(o)}, out, g)}, c.Err
}

// LogSoftmaxGradOp is g_j − p_j Σ_l g_l with p = exp(log p), from log p and g.
type LogSoftmaxGradOp struct{ Of Kind }

func (o LogSoftmaxGradOp) Signature() []Kind { return []Kind{o.Of, o.Of, o.Of} }

func (LogSoftmaxGradOp) Shape(in []tensor.Shape) (tensor.Shape, error) { return SameShape(in) }

func (LogSoftmaxGradOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	c := columns(out)
	if IsFloat32(out) {
		simd.Exp(Values[float32](out), Values[float32](in[0]))
		lessShare(Values[float32](out), Values[float32](in[1]), c)
	} else {
		p := Values[float64](out)
		for i, v := range Values[float64](in[0]) {
			p[i] = math.Exp(v)
		}
		lessShare(p, Values[float64](in[1]), c)
	}
}

// lessShare replaces p_j by g_j − p_j Σ_l g_l.
func lessShare[F Float](p, g []F, c int) {
	for b := 0; b < len(g); b += c {
		var sum F
		for _, v := range g[b : b+c] {
			sum += v
		}
		for j := b; j < b+c; j++ {
			p[j] = g[j] - p[j]*sum
		}
	}
}

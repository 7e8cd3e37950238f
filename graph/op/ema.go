package op

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// The moving averages of a codebook (van den Oord et al. 2017, appendix A.1):
//
//	m_k ← γ m_k + (1−γ) |{(b,i): s(b,i) = k}|     counts, by Count and Blend
//	T_k ← γ T_k + (1−γ) Σ_{s(b,i)=k} z_b⁽ⁱ⁾         sums, by ScatterAdd and Blend
//	c_k = T_k / (m_k + ε)                          codewords, by Normalize
//
// None of them is differentiated.

// Count counts how often each of K codewords occurs in codes (B×w): a vector (K)
// of the shape and type of its second input, the running counts m.
func Count() Op { return Op{CountOp{}} }

// Blend is γ·old + (1−γ)·fresh for two tensors of one shape with dims dimensions.
func Blend(dims int, decay float64) Op { return Op{BlendOp{Kind{Dims: dims}, decay}} }

// Normalize divides row k of the sums (K×d) by the count m_k + ε.
func Normalize(eps float64) Op { return Op{NormalizeOp{Eps: eps}} }

// CountOp is the op of [Count].
type CountOp struct{}

func (CountOp) Signature() []Kind { return []Kind{Codes, Vector, Vector} }

func (CountOp) Shape(in []tensor.Shape) (tensor.Shape, error) { return in[1].Clone(), nil }

func (CountOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	if IsFloat32(out) {
		countCodes(Values[float32](out), Values[int32](in[0]))
	} else {
		countCodes(Values[float64](out), Values[int32](in[0]))
	}
}

func countCodes[F Float](m []F, s []int32) {
	clear(m)
	for _, k := range s {
		m[k]++
	}
}

// BlendOp is the op of [Blend].
type BlendOp struct {
	Of    Kind
	Decay float64
}

func (o BlendOp) Signature() []Kind { return []Kind{o.Of, o.Of, o.Of} }

func (BlendOp) Shape(in []tensor.Shape) (tensor.Shape, error) { return SameShape(in) }

func (o BlendOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	if IsFloat32(out) {
		blendTo(Values[float32](out), Values[float32](in[0]), Values[float32](in[1]), o.Decay)
	} else {
		blendTo(Values[float64](out), Values[float64](in[0]), Values[float64](in[1]), o.Decay)
	}
}

func blendTo[F Float](out, old, fresh []F, decay float64) {
	keep, add := F(decay), F(1-decay)
	for i, v := range old {
		out[i] = keep*v + add*fresh[i]
	}
}

// NormalizeOp is the op of [Normalize].
type NormalizeOp struct{ Eps float64 }

func (NormalizeOp) Signature() []Kind { return []Kind{Matrix, Vector, Matrix} }

func (NormalizeOp) Shape(in []tensor.Shape) (tensor.Shape, error) {
	if in[0][0] != in[1][0] {
		return nil, errShapes
	}
	return in[0].Clone(), nil
}

func (o NormalizeOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	if IsFloat32(out) {
		divideRows(Values[float32](out), Values[float32](in[0]), Values[float32](in[1]), float32(o.Eps))
	} else {
		divideRows(Values[float64](out), Values[float64](in[0]), Values[float64](in[1]), o.Eps)
	}
}

func divideRows[F Float](c, sums, counts []F, eps F) {
	d := len(sums) / len(counts)
	for k, m := range counts {
		for j := k * d; j < (k+1)*d; j++ {
			c[j] = sums[j] / (m + eps)
		}
	}
}

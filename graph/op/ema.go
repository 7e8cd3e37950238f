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
func Count() Op { return Op{count{}} }

// Blend is γ·old + (1−γ)·fresh for two tensors of one shape with dims dimensions.
func Blend(dims int, decay float64) Op { return Op{blend{kind{dims: dims}, decay}} }

// Normalize divides row k of the sums (K×d) by the count m_k + ε.
func Normalize(eps float64) Op { return Op{normalize{Eps: eps}} }

type count struct{}

func (count) signature() []kind { return []kind{codes, vector, vector} }

func (count) shape(in []tensor.Shape) (tensor.Shape, error) { return in[1].Clone(), nil }

func (count) run(out gorgonia.Value, in []gorgonia.Value) {
	if isFloat32(out) {
		countCodes(values[float32](out), values[int32](in[0]))
	} else {
		countCodes(values[float64](out), values[int32](in[0]))
	}
}

func countCodes[F float](m []F, s []int32) {
	clear(m)
	for _, k := range s {
		m[k]++
	}
}

type blend struct {
	of    kind
	Decay float64
}

func (o blend) signature() []kind { return []kind{o.of, o.of, o.of} }

func (blend) shape(in []tensor.Shape) (tensor.Shape, error) { return same(in) }

func (o blend) run(out gorgonia.Value, in []gorgonia.Value) {
	if isFloat32(out) {
		blendTo(values[float32](out), values[float32](in[0]), values[float32](in[1]), o.Decay)
	} else {
		blendTo(values[float64](out), values[float64](in[0]), values[float64](in[1]), o.Decay)
	}
}

func blendTo[F float](out, old, fresh []F, decay float64) {
	keep, add := F(decay), F(1-decay)
	for i, v := range old {
		out[i] = keep*v + add*fresh[i]
	}
}

type normalize struct{ Eps float64 }

func (normalize) signature() []kind { return []kind{matrix, vector, matrix} }

func (normalize) shape(in []tensor.Shape) (tensor.Shape, error) {
	if in[0][0] != in[1][0] {
		return nil, errShapes
	}
	return in[0].Clone(), nil
}

func (o normalize) run(out gorgonia.Value, in []gorgonia.Value) {
	if isFloat32(out) {
		divideRows(values[float32](out), values[float32](in[0]), values[float32](in[1]), float32(o.Eps))
	} else {
		divideRows(values[float64](out), values[float64](in[0]), values[float64](in[1]), o.Eps)
	}
}

func divideRows[F float](c, sums, counts []F, eps F) {
	d := len(sums) / len(counts)
	for k, m := range counts {
		for j := k * d; j < (k+1)*d; j++ {
			c[j] = sums[j] / (m + eps)
		}
	}
}

package op

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

func (CountOp) Form() string                { return "int B w, K -> K" }
func (o CountOp) Run(out Value, in []Value) { Dispatch(o, out, in, countCodes, countCodes) }

func countCodes[F Float](_ CountOp, v Args[F]) {
	m := v.Out()
	clear(m)
	for _, k := range v.Ints(0) {
		m[k]++
	}
}

// BlendOp is the op of [Blend].
type BlendOp struct {
	Of    Kind
	Decay float64
}

func (o BlendOp) Form() string              { return Alike(o.Of, 2) }
func (o BlendOp) Run(out Value, in []Value) { Dispatch(o, out, in, blend, blend) }

func blend[F Float](o BlendOp, v Args[F]) {
	out, fresh, keep, add := v.Out(), v.In(1), F(o.Decay), F(1-o.Decay)
	for i, old := range v.In(0) {
		out[i] = keep*old + add*fresh[i]
	}
}

// NormalizeOp is the op of [Normalize].
type NormalizeOp struct{ Eps float64 }

func (NormalizeOp) Form() string                { return "K d, K -> K d" }
func (o NormalizeOp) Run(out Value, in []Value) { Dispatch(o, out, in, normalize, normalize) }

func normalize[F Float](o NormalizeOp, v Args[F]) {
	c, sums, d := v.Out(), v.In(0), v.Columns(0)
	for k, m := range v.In(1) {
		for j := k * d; j < (k+1)*d; j++ {
			c[j] = sums[j] / (m + F(o.Eps))
		}
	}
}

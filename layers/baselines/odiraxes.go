package baselines

import (
	"calibra/graph/simd"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// principalAxes are what the penalties of [penalized] need of R where RᵀR is diagonal, as
// [whitening.principal] makes it. With s its diagonal and w̃_k the rows of W̃,
//
//	‖Ω∘W‖² = Σ_k s_k ‖w̃_k‖² − Σ_j W_jj² ,  W_jj = Σ_k R_jk W̃_kj ,  b = b̃ + q_{<C} W̃
//
// so that they take C² operations, not the C³ of W = RW̃.
type principalAxes struct {
	s, q []float64  // C, and (−Rᵀm, 1) of C+1
	r    *mat.Dense // Rᵀ with a last row of 0, (C+1)×C
}

func newPrincipalAxes(w whitening) *principalAxes {
	c := len(w.mean)
	a := &principalAxes{make([]float64, c), make([]float64, c+1), mat.NewDense(c+1, c, nil)}
	a.q[c] = 1
	for i, row := range rowsOf(w.forward) {
		for k, r := range row {
			a.s[k] += r * r
			a.q[k] -= w.mean[i] * r
			a.r.Set(k, i, r)
		}
	}
	return a
}

// penalize adds the gradient of the penalties at v to dst and returns their value.
func (a *principalAxes) penalize(dst, v []float64, off, intercept float64) float64 {
	c := len(a.s)
	own, b := make([]float64, c), make([]float64, c) // W_jj and b
	copy(b, v[c*c:])
	value := 0.0
	for k, s := range a.s {
		w, r, q := v[k*c:(k+1)*c], a.r.RawRowView(k), a.q[k]
		value += off * s * floats.Dot(w, w)
		for j, x := range w {
			own[j] += r[j] * x
			b[j] += q * x
		}
	}
	value += intercept*floats.Dot(b, b) - off*floats.Dot(own, own)
	floats.Scale(2*intercept, b)
	floats.Add(dst[c*c:], b)
	simd.Run(c, blocksOf(func(k int) {
		w, r, slope := v[k*c:(k+1)*c], a.r.RawRowView(k), dst[k*c:(k+1)*c]
		for j, x := range w {
			slope[j] += 2*off*(a.s[k]*x-r[j]*own[j]) + a.q[k]*b[j]
		}
	}))
	return value
}

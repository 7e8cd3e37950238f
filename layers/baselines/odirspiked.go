package baselines

import (
	"math"

	"calibra/graph/work"

	gonum "gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// spiked is a guess of ∇²f that can be solved with: what couples the classes through P is left out. In the
// axes of [whitening.principal] it is of each class j a diagonal and three vectors,
//
//	H_j ≈ diag(v_j + 2λ/(C(C−1)) s) + a_j a_jᵀ + 2μ/C qqᵀ − 2λ/(C(C−1)) r_j r_jᵀ
//
// The likelihood weighs row n by w_nj = p_nj(1−p_nj)/N. With d_j = Σ_n w_nj, a_j = Σ_n w_nj x̃_n/√d_j
// is where the class lies and v_j the variance of its rows along each axis, times d_j: its
// diagonal is exact. s is the diagonal of RᵀR, q = (−Rᵀm, 1), and r_j the row of R that belongs to
// W_jj, which is free.
//
// One vector added to the weights of all classes changes no probability, so that along it the
// penalties alone are there, and the blocks see far too much: what they leave of it is solved
// apart, with the sum of the penalties' blocks,
//
//	2λ/C diag(s, 0) + 2μ qqᵀ
type spiked struct {
	v, a *mat.Dense // (C+1)×C, class j in column j
	d    []float64  // C

	axes    *principalAxes
	inverse *mat.Dense   // of the diagonal, (C+1)×C
	mixed   [][9]float64 // C: the inverse is D⁻¹ − D⁻¹UMUᵀD⁻¹ with U = (r, a, q)

	shared    []float64 // C, of the vector that all classes have
	intercept float64
}

// varianceFloor is the least variance, in parts of the class's weight.
const varianceFloor = 1e-3

// sharedFloor is the least curvature along what all classes share, in parts of the likelihood's.
const sharedFloor = 1e-6

func newSpiked(axes *principalAxes) *spiked {
	c := len(axes.s)
	return &spiked{axes: axes, inverse: mat.NewDense(c+1, c, nil), mixed: make([][9]float64, c), shared: make([]float64, c)}
}

func (b *spiked) measure(f *penalized) {
	c := len(f.mean)
	b.v, b.a, b.d = mat.NewDense(c+1, c, nil), mat.NewDense(c+1, c, nil), make([]float64, c)
	f.diagonal(b.v.RawMatrix().Data) // leaves the weights in u
	copy(b.d, b.v.RawRowView(c))
	product(b.a.Slice(0, c, 0, c).(*mat.Dense), f.x, f.u, gonum.Trans)
	copy(b.a.RawRowView(c), b.d)
	for k := range c + 1 {
		v, a := b.v.RawRowView(k), b.a.RawRowView(k)
		for j, d := range b.d {
			a[j] /= math.Sqrt(d + tiny)
			v[j] = max(v[j]-a[j]*a[j], varianceFloor*d) + tiny
		}
	}
}

// tiny is the curvature of a class that has no probability anywhere.
const tiny = 1e-14

func (b *spiked) penalize(f *penalized) {
	c := len(f.mean)
	off, intercept := f.strengths()
	strengths := [3]float64{-2 * off, 1, 2 * intercept}
	grams := make([][9]float64, c) // UᵀD⁻¹U
	for k := range c + 1 {
		inverse, v, a, r := b.inverse.RawRowView(k), b.v.RawRowView(k), b.a.RawRowView(k), b.axes.r.RawRowView(k)
		added := 0.0
		if k < c {
			added = 2 * off * b.axes.s[k]
		}
		for j := range inverse {
			inverse[j] = 1 / (v[j] + added)
			u := [3]float64{r[j], a[j], b.axes.q[k]}
			for l, x := range u {
				for m, y := range u {
					grams[j][3*l+m] += x * y * inverse[j]
				}
			}
		}
	}
	for j := range grams {
		b.mixed[j] = mixed(grams[j], strengths)
	}
	total := 0.0
	for _, d := range b.d {
		total += d
	}
	least := sharedFloor * total
	for k, s := range b.axes.s {
		b.shared[k] = 1 / max(2*off*float64(c-1)*s, least)
	}
	b.intercept = 1 / max(2*intercept*float64(c), least)
}

// mixed is M of the inverse D⁻¹ − D⁻¹UMUᵀD⁻¹ of D + U diag(strengths) Uᵀ, one vector of U
// after the other (Sherman and Morrison 1950), of gram = UᵀD⁻¹U. A vector that would make it
// indefinite by rounding is left out.
func mixed(gram [9]float64, strengths [3]float64) (m [9]float64) {
	for i, s := range strengths {
		var t [3]float64 // the inverse so far times u_i is D⁻¹U t
		t[i] = 1
		for k := range t {
			for l := range t {
				t[k] -= m[3*k+l] * gram[3*l+i]
			}
		}
		along := 1.0
		for k := range t {
			along += s * gram[3*i+k] * t[k]
		}
		if along < 1e-9 {
			continue
		}
		for k := range t {
			for l := range t {
				m[3*k+l] += s / along * t[k] * t[l]
			}
		}
	}
	return m
}

// columnsAtOnce is how many classes one call of solve works on.
const columnsAtOnce = 64

func (b *spiked) solve(dst, r []float64) {
	c := len(b.d)
	sums := make([]float64, c+1) // of the residual over all classes
	work.Each(c+1, 1, func(k int) {
		for _, v := range r[k*c : (k+1)*c] {
			sums[k] += v
		}
	})
	common := make([]float64, c+1)
	along := sums[c] * b.intercept // qᵀ times it
	common[c] = along
	for k := range c {
		common[k] = b.shared[k] * (sums[k] - b.axes.q[k]*sums[c])
		common[c] -= b.axes.q[k] * common[k]
	}
	work.Ranges(c, columnsAtOnce, func(lo, hi int) {
		var sums, t [columnsAtOnce][3]float64
		for k := range c + 1 {
			inverse, a, own := b.inverse.RawRowView(k)[lo:hi], b.a.RawRowView(k)[lo:hi], b.axes.r.RawRowView(k)[lo:hi]
			for j, v := range r[k*c+lo : k*c+hi] {
				v *= inverse[j]
				sums[j][0] += own[j] * v
				sums[j][1] += a[j] * v
				sums[j][2] += b.axes.q[k] * v
			}
		}
		for j := range hi - lo {
			for k := range 3 {
				for l := range 3 {
					t[j][k] += b.mixed[lo+j][3*k+l] * sums[j][l]
				}
			}
		}
		for k := range c + 1 {
			inverse, a, own := b.inverse.RawRowView(k)[lo:hi], b.a.RawRowView(k)[lo:hi], b.axes.r.RawRowView(k)[lo:hi]
			for j, v := range r[k*c+lo : k*c+hi] {
				dst[k*c+lo+j] = inverse[j]*(v-own[j]*t[j][0]-a[j]*t[j][1]-b.axes.q[k]*t[j][2]) + common[k]
			}
		}
	})
}

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
	work.Each(c, 1, func(k int) {
		w, r, gradient := v[k*c:(k+1)*c], a.r.RawRowView(k), dst[k*c:(k+1)*c]
		for j, x := range w {
			gradient[j] += 2*off*(a.s[k]*x-r[j]*own[j]) + a.q[k]*b[j]
		}
	})
	return value
}

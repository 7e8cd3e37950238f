package baselines

import (
	"fmt"

	"calibra/data"
	"calibra/graph/simd"

	gonum "gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// penalized is the loss of [odirMap] with its curvature, in closed form, as a function of
// W̃ and b̃ laid end to end (C²+C):
//
//	f   = −1/N Σ_n log p_n,y(n) + λ/(C(C−1)) ‖Ω∘W‖² + μ/C ‖b‖² ,  W = RW̃, b = b̃ − mW
//
// The first term is [multinomial] of the whitened inputs X̃ (N×C), Ω is 1 off the diagonal.
// The graph of odirMap.Loss is its specification.
type penalized struct {
	whitening
	*multinomial
	lambda, mu float64

	blocks curvature
	axes   *principalAxes // of R; nil where RᵀR is not diagonal
}

func newPenalized(white whitening, x *mat.Dense, aims *data.Set) *penalized {
	f := &penalized{whitening: white, multinomial: newMultinomial(x, aims)}
	if len(white.mean) <= mostBlocks {
		f.blocks = &classBlocks{}
	} else {
		f.useAxes()
	}
	return f
}

// useAxes lets f work along the principal axes that its whitening has.
func (f *penalized) useAxes() {
	f.axes = newPrincipalAxes(f.whitening)
	f.blocks = newSpiked(f.axes)
}

// Gradient is f and ∇f.
func (f *penalized) Gradient(grad, x []float64) float64 {
	return f.gradient(grad, x) + f.penalize(grad, x)
}

// Product is ∇²f·v.
func (f *penalized) Product(dst, v []float64) {
	f.product(dst, v)
	f.penalize(dst, v)
}

// penalize adds the gradient of the penalties at v, which are quadratic, to dst and
// returns their value.
func (f *penalized) penalize(dst, v []float64) float64 {
	c := len(f.mean)
	off, intercept := f.strengths()
	if f.axes != nil {
		return f.axes.penalize(dst, v, off, intercept)
	}
	vw, vb := f.parts(v)
	dw, db := f.parts(dst)
	var w mat.Dense
	product(&w, f.forward, vw, gonum.NoTrans) // W = RW̃
	b := make([]float64, c)                   // b̃ − mW
	copy(b, vb)
	for k, m := range f.mean {
		floats.AddScaled(b, -m, w.RawRowView(k))
	}
	value := 0.0
	for k := range c {
		row := w.RawRowView(k)
		row[k] = 0
		value += off * floats.Dot(row, row)
		floats.Scale(2*off, row)
	}
	value += intercept * floats.Dot(b, b)
	for j, v := range b {
		b[j] = 2 * intercept * v
		db[j] += b[j]
	}
	for k, m := range f.mean { // ∂b/∂W = −m
		floats.AddScaled(w.RawRowView(k), -m, b)
	}
	var gradient mat.Dense
	product(&gradient, f.forward, &w, gonum.Trans)
	dw.Add(dw, &gradient)
	return value
}

// strengths are λ/(C(C−1)) and μ/C.
func (f *penalized) strengths() (off, intercept float64) {
	c := float64(len(f.mean))
	return f.lambda / (c * (c - 1)), f.mu / c
}

// temper scales x = (W̃, b̃) by that of 1, ½, ¼, … from which on the likelihood falls no
// more, a rough temperature, and leaves P there: of probabilities that are all 0 or 1
// there is no curvature to step by.
func (f *penalized) temper(x []float64) {
	lambda, mu := f.lambda, f.mu
	f.lambda, f.mu = 0, 0
	gradient := make([]float64, len(x))
	loss := f.Gradient(gradient, x)
	for range 20 {
		floats.Scale(0.5, x)
		next := f.Gradient(gradient, x)
		if !(next < loss) {
			floats.Scale(2, x)
			f.Gradient(gradient, x)
			break
		}
		loss = next
	}
	f.lambda, f.mu = lambda, mu
}

// Precondition solves with the curvature of each class by itself.
func (f *penalized) Precondition(dst, r []float64) { f.blocks.solve(dst, r) }

// measure takes the curvature of the likelihood from P as it is now.
func (f *penalized) measure() { f.blocks.measure(f) }

// penalty sets λ and μ.
func (f *penalized) penalty(lambda, mu float64) error {
	f.lambda, f.mu = lambda, mu
	return f.blocks.penalize(f)
}

// Renew takes the curvature from P as it is now, with the penalties' part.
func (f *penalized) Renew() error {
	f.measure()
	return f.blocks.penalize(f)
}

// curvature is a guess of ∇²f that can be solved with: what couples the classes through
// P is left out.
type curvature interface {
	measure(f *penalized)        // the likelihood's part
	penalize(f *penalized) error // with the penalties' part, which changes more often
	solve(dst, r []float64)
}

// mostBlocks is up to how many classes each has a block of its own, C(C+1)² numbers in
// all: 108 MB at 236.
const mostBlocks = 236

// classBlocks are the diagonal blocks of ∇²f, one for each true class j:
//
//	H_j = 1/N Σ_n p_nj(1−p_nj) x̃x̃ᵀ + 2λ/(C(C−1)) RᵀΩ_jR + 2μ/C qqᵀ
//
// with x̃ = (X̃_n, 1), q = (−Rᵀm, 1) and Ω_j the identity without entry j.
type classBlocks struct {
	likelihood []*mat.Dense // C of (C+1)×(C+1)
	inverse    []*mat.Dense
}

func (b *classBlocks) measure(f *penalized) {
	n, c := f.x.Dims()
	b.likelihood = make([]*mat.Dense, c)
	weighted, x := mat.NewDense(n, c+1, nil), withOne(f.x)
	for j := range c {
		f.each(func(i int) {
			p := f.p.At(i, j)
			floats.ScaleTo(weighted.RawRowView(i), p*(1-p)*f.aims.Weight(i)/f.total, x.RawRowView(i))
		})
		b.likelihood[j] = new(mat.Dense)
		product(b.likelihood[j], x, weighted, gonum.Trans)
	}
}

func (b *classBlocks) penalize(f *penalized) error {
	c := len(f.mean)
	off, intercept := f.strengths()
	var gram mat.Dense // RᵀR
	product(&gram, f.forward, f.forward, gonum.Trans)
	q := make([]float64, c+1)
	for k, m := range f.mean {
		floats.AddScaled(q[:c], -m, f.forward.RawRowView(k))
	}
	q[c] = 1
	b.inverse = make([]*mat.Dense, c)
	failed := make([]bool, c)
	simd.Run(c, blocksOf(func(j int) {
		h := mat.NewSymDense(c+1, nil)
		r := f.forward.RawRowView(j) // of W_jj, which is free
		for k := range c + 1 {
			for l := k; l <= c; l++ {
				v := b.likelihood[j].At(k, l) + 2*intercept*q[k]*q[l]
				if l < c {
					v += 2 * off * (gram.At(k, l) - r[k]*r[l])
				}
				h.SetSym(k, l, v)
			}
		}
		inverse, ok := inverted(h)
		b.inverse[j], failed[j] = inverse, !ok
	}))
	for j, bad := range failed {
		if bad {
			return fmt.Errorf("the curvature of class %d cannot be inverted", j)
		}
	}
	return nil
}

// blocksOf is a function of a block's number.
type blocksOf func(i int)

func (f blocksOf) Block(i int) { f(i) }

// inverted is h⁻¹, of h with as much of the identity as makes it positive definite.
func inverted(h *mat.SymDense) (*mat.Dense, bool) {
	n := h.SymmetricDim()
	largest := 0.0
	for k := range n {
		largest = max(largest, h.At(k, k))
	}
	for ridge := max(1e-10*largest, 1e-14); ridge <= max(largest, 1); ridge *= 100 {
		for k := range n {
			h.SetSym(k, k, h.At(k, k)+ridge)
		}
		var factor mat.Cholesky
		if !factor.Factorize(h) {
			continue
		}
		var inverse mat.SymDense
		if factor.InverseTo(&inverse) == nil {
			return mat.DenseCopyOf(&inverse), true
		}
	}
	return nil, false
}

func (b *classBlocks) solve(dst, r []float64) {
	c := len(b.inverse)
	simd.Run(c, blocksOf(func(j int) {
		column, out := make([]float64, c+1), make([]float64, c+1)
		for k := range column {
			column[k] = r[k*c+j]
		}
		for k := range out {
			out[k] = floats.Dot(b.inverse[j].RawRowView(k), column)
		}
		for k, v := range out {
			dst[k*c+j] = v
		}
	}))
}

package baselines

import (
	"calibra/data"

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

	axes   *principalAxes // of R
	spiked *spiked
}

// newPenalized is that of rows x in the terms of white, whose axes are [whitening.principal].
func newPenalized(white whitening, x *mat.Dense, aims *data.Set) *penalized {
	axes := newPrincipalAxes(white)
	return &penalized{whitening: white, multinomial: newMultinomial(x, aims), axes: axes, spiked: newSpiked(axes)}
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
	off, intercept := f.strengths()
	return f.axes.penalize(dst, v, off, intercept)
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
func (f *penalized) Precondition(dst, r []float64) { f.spiked.solve(dst, r) }

// measure takes the curvature of the likelihood from P as it is now.
func (f *penalized) measure() { f.spiked.measure(f) }

// penalty sets λ and μ.
func (f *penalized) penalty(lambda, mu float64) {
	f.lambda, f.mu = lambda, mu
	f.spiked.penalize(f)
}

// Renew takes the curvature from P as it is now, with the penalties' part.
func (f *penalized) Renew() error {
	f.measure()
	f.spiked.penalize(f)
	return nil
}

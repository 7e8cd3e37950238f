package optim

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"calibra/optim/estimate"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Mixture finds the weights w of a mixture of M densities that minimize the mean loss of N rows;
// part m gives row i the probability p_im:
//
//	−(1/N) Σ_i log Σ_m w_m p_im ,  w ≥ 0 ,  Σ_m w_m = 1
//
// A weight of w that is 0 stays 0. A row for which all other parts give 0 is left out.
//
// Without the last condition, and with Σ_m w_m added to the loss, the minimum is the same. Newton's
// method finds it with a barrier −μ Σ_m log w_m, for ever smaller μ. At the least of one,
// g_m = (1/N) Σ_i p_im / Σ_l w_l p_il is 1 − μ/w_m, so that Σ_m w_m = 1 + Mμ; the loss, which is
// convex, is then at most max_m g_m Σ_m w_m − 1 ≤ Mμ above the least (Lindsay 1983). That ends
// below Gap.
type Mixture struct {
	Densities []float64 // p (N×M, row by row); each row may be scaled by a factor of its own
	Counts    []float64 // how many times each row counts (N); nil: once
	Gap       float64   // in nats a row; 0: 1e-10
	Start     []float64 // weights near those of least loss, none of them 0 (M); nil: unknown
}

// Minimize finds the weights in place, in w (M); entries above 0 start equal or, where it is known, at Start, with the
// least μ at once. If no row distinguishes the parts, w is kept. An error is ctx's, or says that lengths do not fit.
func (s Mixture) Minimize(ctx context.Context, w []float64) error {
	p, gap := s.Densities, cmp.Or(s.Gap, 1e-10)
	if len(w) == 0 || len(p)%len(w) != 0 || s.Counts != nil && len(s.Counts) != len(p)/len(w) {
		return fmt.Errorf("optim: %d densities and %d counts are no rows of %d parts", len(p), len(s.Counts), len(w))
	}
	var parts []int
	for m, x := range w {
		if x > 0 {
			parts = append(parts, m)
		}
	}
	b := newMixture(parts, len(w), p, s.Counts)
	if b.n == 0 {
		return nil
	}
	x := slices.Repeat([]float64{1 / float64(len(parts))}, len(parts))
	last := gap / float64(2*len(x)) // half of it is for what Newton's method leaves
	mu := max(0.1, last)
	if s.Start != nil {
		mu = last
		for k, m := range parts {
			x[k] = s.Start[m]
		}
	}
	for ; ; mu = max(mu/10, last) {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("interrupted at a barrier of %g: %w", mu, err)
		}
		b.mu = mu
		b.centre(x)
		if mu == last {
			break
		}
	}
	sum := floats.Sum(x)
	for k, m := range parts {
		w[m] = x[k] / sum
	}
	return nil
}

// mixture is the loss of a mixture with its barrier.
type mixture struct {
	n    float64   // as how many rows those count that a part explains
	p    []float64 // of each of them, by M
	rows []float64 // as how many each counts
	mu   float64

	gradient []float64
	hessian  *mat.SymDense
}

// newMixture takes the given parts of the rows of p, of the given width.
func newMixture(parts []int, width int, p, rows []float64) *mixture {
	b := &mixture{gradient: make([]float64, len(parts)), hessian: mat.NewSymDense(max(1, len(parts)), nil)}
	for i := 0; i < len(p); i += width {
		row := p[i : i+width]
		sum := 0.0
		for _, m := range parts {
			sum += row[m]
		}
		if !(sum > 0) {
			continue
		}
		count := 1.0
		if rows != nil {
			count = rows[i/width]
		}
		b.n, b.rows = b.n+count, append(b.rows, count)
		for _, m := range parts {
			b.p = append(b.p, row[m]/sum)
		}
	}
	return b
}

// mixtureSteps bounds the steps for one barrier; Newton's method takes some five.
const mixtureSteps = 100

// centre moves x to the least of the loss with the barrier, until what a step can still gain is
// 1e-8 of what the barrier hides, or parts are alike to rounding.
func (b *mixture) centre(x []float64) {
	estimate.Newton{
		Steps: mixtureSteps, Enough: 1e-8 * b.mu * float64(len(x)), Value: b.loss, Derivatives: b.derivatives,
		Longest: func(x, d []float64) float64 {
			share := 1.0
			for k, v := range d {
				if v > 0 {
					share = min(share, 0.95*x[k]/v)
				}
			}
			return share
		},
	}.Minimize(x)
}

// loss is −(1/N) Σ_i log Σ_m x_m p_im + Σ_m x_m − μ Σ_m log x_m.
func (b *mixture) loss(x []float64) float64 {
	loss := floats.Sum(x)
	for _, v := range x {
		loss -= b.mu * math.Log(v)
	}
	sum := 0.0
	for i := 0; i < len(b.p); i += len(x) {
		sum += b.rows[i/len(x)] * math.Log(floats.Dot(x, b.p[i:i+len(x)]))
	}
	return loss - sum/b.n
}

// derivatives are the gradient and the Hessian of the loss.
func (b *mixture) derivatives(x []float64) ([]float64, *mat.SymDense) {
	clear(b.gradient)
	b.hessian.Zero()
	h := b.hessian.RawSymmetric()
	for i := 0; i < len(b.p); i += len(x) {
		per := b.rows[i/len(x)] / b.n
		row := b.p[i : i+len(x)]
		s := 1 / floats.Dot(x, row)
		for k, v := range row {
			v *= s
			b.gradient[k] -= per * v
			to := h.Data[k*h.Stride : k*h.Stride+len(x)]
			for l := k; l < len(x); l++ {
				to[l] += per * v * s * row[l]
			}
		}
	}
	for k, v := range x {
		b.gradient[k] += 1 - b.mu/v
		h.Data[k*h.Stride+k] += b.mu / (v * v)
	}
	return b.gradient, b.hessian
}

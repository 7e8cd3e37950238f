package optim

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"calibra/graph"

	"gonum.org/v1/gonum/floats"
)

// FixedLBFGS minimizes as torch.optim.LBFGS does without a line search: every step
// is Rate times the limited-memory BFGS direction. Published temperatures were found
// with rate 1e-3 and 1,000 to 2,000 iterations, which stops far short of the
// minimum; it is here to explain published numbers, and no default.
type FixedLBFGS struct {
	Rate       float64        // 0: 1e-3
	Iterations int            // at most; 0: 1000
	Executor   graph.Executor // where loss and gradient are computed; nil: in this process
}

var _ Method = FixedLBFGS{}

// Constants of torch.optim.LBFGS's defaults.
const (
	torchHistory         = 100
	torchGradient        = 1e-7 // ∞-norm of the gradient to stop at
	torchChange          = 1e-9 // step length and change of loss to stop at
	torchSmallestProduct = 1e-10
)

func (s FixedLBFGS) withDefaults() (FixedLBFGS, error) {
	if s.Rate < 0 || s.Iterations < 0 {
		return s, fmt.Errorf("optim: rate %g and iterations %d must be positive", s.Rate, s.Iterations)
	}
	s.Rate, s.Iterations = cmp.Or(s.Rate, 1e-3), cmp.Or(s.Iterations, 1000)
	return s, nil
}

// Minimize runs over all rows at once. The result has converged only if the gradient
// is below 1e-7; torch's other conditions (a step, or a change of the loss, below
// 1e-9) end the run too.
func (s FixedLBFGS) Minimize(ctx context.Context, p Problem, _ *rand.Rand) (Result, error) {
	s, err := s.withDefaults()
	if err != nil {
		return Result{}, err
	}
	f, err := newFullBatch(p, rowsAtOnce, s.Executor)
	if err != nil {
		return Result{}, err
	}
	defer f.gradients.Close()
	at := &fixedSteps{f: f, x: p.Loss.Weights().Vector()}
	at.loss, at.grad = f.loss(at.x), slices.Clone(f.grad)
	r := Result{Validation: math.NaN()}
	for level := false; f.err == nil; {
		r.Best, r.Loss, r.GradientNorm = r.Epochs, at.loss, largest(at.grad)
		switch {
		case level:
			return r.ended(r.stationaryWithin(torchGradient, Stalled), "the loss changed by less than %.0e in iteration %d; the gradient is %.1e", torchChange, r.Epochs, r.GradientNorm)
		case r.GradientNorm <= torchGradient:
			return r.ended(Stationary, smallGradient, r.GradientNorm)
		case r.Epochs == s.Iterations:
			return r.ended(Limit, "all %d iterations were run; the gradient is %.1e", s.Iterations, r.GradientNorm)
		case ctx.Err() != nil:
			return r, fmt.Errorf("interrupted in iteration %d: %w", r.Epochs, ctx.Err())
		}
		rate := s.Rate
		if r.Epochs == 0 {
			rate *= min(1, 1/floats.Norm(at.grad, 1))
		}
		before := at.loss
		if !at.advance(rate) {
			return r.ended(Stalled, "the loss no longer falls; the gradient is %.1e", r.GradientNorm)
		}
		level = largest(at.step) <= torchChange || math.Abs(at.loss-before) < torchChange
		r.Epochs++
		if f.err == nil && math.IsInf(at.loss, 1) {
			return r, fmt.Errorf("optim: the loss is not finite in iteration %d; choose a smaller rate than %g", r.Epochs, s.Rate)
		}
		r.Curve = append(r.Curve, Point{r.Epochs, at.loss, math.NaN(), largest(at.grad)})
		r.report(ctx, "iteration", s.Iterations, float64(r.Epochs)/float64(s.Iterations))
	}
	return r, f.err
}

// fixedSteps is where such a fit is, with loss and gradient there, and the last step and how it changed the gradient.
type fixedSteps struct {
	f                     *fullBatch
	loss                  float64
	x, grad, step, change []float64
	history               pairs
}

// advance takes a step of rate times the direction; false where that does not lead down.
func (a *fixedSteps) advance(rate float64) bool {
	a.step, a.change = make([]float64, len(a.x)), make([]float64, len(a.x))
	a.history.direction(a.step, a.grad)
	if floats.Dot(a.grad, a.step) > -torchChange {
		return false
	}
	floats.Scale(rate, a.step)
	floats.Add(a.x, a.step)
	a.loss = a.f.loss(a.x)
	floats.SubTo(a.change, a.f.grad, a.grad)
	copy(a.grad, a.f.grad)
	a.history.add(a.step, a.change)
	return true
}

// pairs is the history of L-BFGS: steps s, changes of the gradient y, 1/(s·y), and
// the scale s·y/y·y of the last.
type pairs struct {
	s, y    [][]float64
	inverse []float64
	scale   float64
}

// add keeps a pair and forgets the oldest where there are too many.
func (h *pairs) add(s, y []float64) {
	product := floats.Dot(s, y)
	if product <= torchSmallestProduct {
		return
	}
	if len(h.s) == torchHistory {
		h.s, h.y, h.inverse = slices.Delete(h.s, 0, 1), slices.Delete(h.y, 0, 1), slices.Delete(h.inverse, 0, 1)
	}
	h.s, h.y, h.inverse = append(h.s, s), append(h.y, y), append(h.inverse, 1/product)
	h.scale = product / floats.Dot(y, y)
}

// direction is −H·grad by the two-loop recursion (Nocedal and Wright 2006,
// algorithm 7.4).
func (h *pairs) direction(d, grad []float64) {
	floats.ScaleTo(d, -1, grad)
	if len(h.s) == 0 {
		return
	}
	a := make([]float64, len(h.s))
	for i := len(h.s) - 1; i >= 0; i-- {
		a[i] = h.inverse[i] * floats.Dot(h.s[i], d)
		floats.AddScaled(d, -a[i], h.y[i])
	}
	floats.Scale(h.scale, d)
	for i := range h.s {
		floats.AddScaled(d, a[i]-h.inverse[i]*floats.Dot(h.y[i], d), h.s[i])
	}
}

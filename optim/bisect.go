package optim

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"calibra/graph"
)

// Bisect minimizes a convex loss of one learned number over [Low, High]: it finds where the derivative over all rows is
// 0, to |derivative| ≤ Tolerance or as near as float64 can. The result reports if the minimum lies on a bound.
type Bisect struct{ Low, High, Tolerance float64 }

var _ Method = Bisect{}

func (s Bisect) Minimize(ctx context.Context, p Problem, _ *rand.Rand) (Result, error) {
	if err := p.check(); err != nil {
		return Result{}, err
	}
	w := p.Loss.Weights()
	if n := w.Size(); n != 1 {
		return Result{}, fmt.Errorf("optim: bisection needs one learned number, not %d", n)
	}
	number := w.Tensor(w.Learned()[0]).Float64s()
	r := Result{Validation: math.NaN()}
	slope := func(at float64) (float64, error) {
		number[0] = at
		return r.slope(ctx, p)
	}
	at, err := s.Find(number[0], slope)
	if err == nil && at != number[0] {
		_, err = slope(at)
	}
	switch {
	case err != nil:
		return r, err
	case at == s.Low || at == s.High:
		return r.ended(r.stationaryWithin(s.Tolerance, OnBound), "the minimum lies on or beyond the bound %g", at)
	}
	return r.ended(Stationary, smallGradient, r.GradientNorm)
}

// slope is the derivative of p's loss in its one number, as the next iteration of r.
func (r *Result) slope(ctx context.Context, p Problem) (float64, error) {
	if err := ctx.Err(); err != nil {
		return 0, fmt.Errorf("interrupted in iteration %d: %w", r.Epochs, err)
	}
	loss, grads, err := p.Loss.Gradient(graph.Rows(0, p.Rows))
	if err != nil {
		return 0, err
	}
	if name := p.Loss.Trouble(loss, grads); name != "" {
		return 0, fmt.Errorf("optim: %s is not finite", name)
	}
	slope := grads[0].Float64s()[0]
	r.Epochs++
	r.Best, r.Loss, r.GradientNorm = r.Epochs, loss, math.Abs(slope)
	return slope, nil
}

// Find is where f, which is negative below and positive above, is 0, or the bound where f has one sign. It starts
// beside from, halves the interval, and interpolates x by a parabola of f where that is sure to help (Chandrupatla
// 1997).
func (s Bisect) Find(from float64, f func(x float64) (float64, error)) (float64, error) {
	a := min(max(from, s.Low), s.High)
	fa, err := f(a)
	b := s.High
	if fa >= 0 {
		b = s.Low
	}
	fb, err2 := f(b)
	if err = cmp.Or(err, err2); err != nil || fa >= 0 == (fb >= 0) {
		return b, err
	}
	for t := min(.5, 1/math.Abs(b-a)); ; {
		x, fx := a, fa
		if math.Abs(fb) < math.Abs(fa) {
			x, fx = b, fb
		}
		least := 0x1p-52 * max(1, math.Abs(x)) / math.Abs(b-a)
		if math.Abs(fx) <= s.Tolerance || least > .5 {
			return x, nil
		}
		next := a + min(max(t, least), 1-least)*(b-a)
		fn, err := f(next)
		if err != nil {
			return x, err
		}
		c, fc := a, fa
		if fn >= 0 != (fa >= 0) {
			b, fb, c, fc = a, fa, b, fb
		}
		a, fa = next, fn
		at, value := (a-b)/(c-b), (fa-fb)/(fc-fb)
		if t = .5; value*value < at && (1-value)*(1-value) < 1-at {
			t = fa/(fb-fa)*fc/(fb-fc) + (c-a)/(b-a)*fa/(fc-fa)*fb/(fc-fb)
		}
	}
}

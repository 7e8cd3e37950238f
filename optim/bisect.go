package optim

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"calibra/graph"
)

// Bisect minimizes a convex loss of one learned number over [Low, High] by bisecting
// its derivative over all rows, to |derivative| ≤ Tolerance or until the interval
// holds no further float64. The result reports if the minimum lies on a bound.
type Bisect struct{ Low, High, Tolerance float64 }

var _ Method = Bisect{}

func (s Bisect) Minimize(ctx context.Context, p Problem, _ *rand.Rand) (Result, error) {
	if err := p.check(); err != nil {
		return Result{}, err
	}
	if n := p.Loss.Weights().Size(); n != 1 {
		return Result{}, fmt.Errorf("optim: bisection needs one learned number, not %d", n)
	}
	r := Result{Validation: math.NaN()}
	for _, bound := range []struct{ at, outward float64 }{{s.Low, 1}, {s.High, -1}} {
		switch g, err := r.slope(ctx, p, bound.at); {
		case err != nil:
			return r, err
		case g*bound.outward >= 0:
			return r.ended(r.stationaryWithin(s.Tolerance, OnBound), "the minimum lies on or beyond the bound %g", bound.at)
		}
	}
	for lo, hi := s.Low, s.High; ; {
		mid := lo + (hi-lo)/2
		g, err := r.slope(ctx, p, mid)
		switch {
		case err != nil:
			return r, err
		case math.Abs(g) <= s.Tolerance || mid <= lo || mid >= hi:
			return r.ended(r.stationaryWithin(s.Tolerance, Stalled), "the derivative is %.1e", g)
		case g > 0:
			hi = mid
		default:
			lo = mid
		}
	}
}

// slope is the derivative of p's loss in its one number, at a value that is then its own, as the next iteration of r.
func (r *Result) slope(ctx context.Context, p Problem, at float64) (float64, error) {
	if err := ctx.Err(); err != nil {
		return 0, fmt.Errorf("interrupted in iteration %d: %w", r.Epochs, err)
	}
	w := p.Loss.Weights()
	w.Tensor(w.Learned()[0]).Float64s()[0] = at
	loss, grads, err := p.Loss.Gradient(graph.Rows(0, p.Rows))
	if err != nil {
		return 0, err
	}
	r.Epochs++
	r.Best, r.Loss, r.GradientNorm = r.Epochs, loss, math.Abs(grads[0].Float64s()[0])
	if name := p.Loss.Trouble(loss, grads); name != "" {
		return 0, fmt.Errorf("optim: %s is not finite at %g", name, at)
	}
	return grads[0].Float64s()[0], nil
}

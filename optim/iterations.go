package optim

import (
	"context"
	"fmt"
	"math"

	"calibra/graph/work"
)

// usualIterations are those after which half of a fit is expected to be done: how many it takes is not known.
const usualIterations = 50

// next counts an iteration over all rows, of so many at most, that ended at a loss with a gradient.
func (r *Result) next(ctx context.Context, of int, loss float64, gradient []float64) {
	r.Epochs++
	r.Best, r.Loss = r.Epochs, loss
	r.Curve = append(r.Curve, Point{r.Epochs, loss, math.NaN(), largest(gradient)})
	r.report(ctx, "iteration", of, float64(r.Epochs)/float64(r.Epochs+usualIterations))
}

// How fits over all rows end, in words.
const (
	smallGradient = "the gradient is %.1e"
	allWereRun    = "all %d iterations were run; the gradient is %.1e, not below %.1e"
	noLowerLoss   = "no lower loss was found; the gradient is %.1e, not below %.1e"
)

// ended is the result of a fit that ended so, for its caller.
func (r Result) ended(s Status, format string, args ...any) (Result, error) {
	r.Status, r.Ended = s, fmt.Sprintf(format, args...)
	return r, nil
}

// stationaryWithin is Stationary where the gradient is at most that, and another status where it is not.
func (r Result) stationaryWithin(gradient float64, otherwise Status) Status {
	if r.GradientNorm <= gradient {
		return Stationary
	}
	return otherwise
}

// interrupted is the result of a fit that ctx ended.
func (r Result) interrupted(err error) (Result, error) {
	r.Ended = "interrupted"
	return r, fmt.Errorf("interrupted in iteration %d; the best weights so far are kept: %w", r.Epochs, err)
}

// report reports the last epoch or iteration, of so many at most, and which share of the fit is behind it.
func (r *Result) report(ctx context.Context, unit string, of int, done float64) {
	p := r.Curve[len(r.Curve)-1]
	if math.IsNaN(p.Validation) {
		work.Report(ctx, done, "%s %d of at most %d, loss %.4f", unit, p.Epoch, of, p.Loss)
	} else {
		work.Report(ctx, done, "%s %d of at most %d, loss %.4f, validation %.4f", unit, p.Epoch, of, p.Loss, p.Validation)
	}
}

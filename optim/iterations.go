package optim

import (
	"context"
	"fmt"
	"math"
)

// iterations are those of a fit over all rows at once, as others see them.
type iterations struct {
	of      int         // at most
	observe func(Epoch) // may be nil
}

// usualIterations are those after which half of a fit is expected to be done: how many it takes is not known.
const usualIterations = 50

// next counts an iteration that ended at a loss with a gradient.
func (i iterations) next(ctx context.Context, r *Result, loss float64, gradient []float64) {
	r.Epochs++
	r.Best, r.Loss = r.Epochs, loss
	e := i.epoch(r)
	e.Gradient = largest(gradient)
	r.Curve = append(r.Curve, Point{e.Number, e.Loss, e.Validation, e.Gradient})
	e.report(ctx, "iteration", float64(e.Number)/float64(e.Number+usualIterations))
	if i.observe != nil {
		i.observe(e)
	}
}

// end records that no iteration follows.
func (i iterations) end(r *Result) {
	if i.observe != nil {
		e := i.epoch(r)
		e.Last = true
		i.observe(e)
	}
}

func (i iterations) epoch(r *Result) Epoch {
	return Epoch{Number: r.Epochs, Of: i.of, Loss: r.Loss, Validation: math.NaN(), Gradient: math.NaN(), Rate: math.NaN(), Best: r.Epochs}
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

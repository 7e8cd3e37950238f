package optim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"calibra/graph"
)

// Problem is the input of a [Method]: a mean loss over rows 0…Rows−1 in the learned weights of its graph.
type Problem struct {
	Loss *graph.Objective
	Rows int
	// Validation is the loss that decides when to stop and which weights to keep.
	// Without it a fit runs all its epochs and keeps the last weights. It computes in the session
	// of the fit, and fetches the weights there if it wants them in memory.
	Validation func(s graph.Session) (float64, error)
	// Curved is the same loss with its curvature, of the learned weights laid end to end in their order; nil where only
	// its graph is known. [Newton] needs it.
	Curved Curved
}

// Method is a way to minimize: [Settings] by minibatches; [Descent] by the same steps as far as the loss over all rows
// falls; [LBFGS], [FixedLBFGS] and [Newton] over all rows at once; [Bisect] one number; or one of your own.
type Method interface {
	// Minimize changes the learned weights of p in place. All randomness is rng's; a
	// method that has none does not use it. If ctx is cancelled the best so far is kept and the
	// error wraps ctx.Err().
	Minimize(ctx context.Context, p Problem, rng *rand.Rand) (Result, error)
}

// Minimize minimizes p by a method; nil: [Settings].
func Minimize(ctx context.Context, p Problem, m Method, rng *rand.Rand) (Result, error) {
	m = cmp.Or[Method](m, Settings{})
	if _, steps := m.(Settings); ctx == nil || steps && rng == nil {
		return Result{}, errors.New("optim: a fit needs a context, such as context.Background(), and by minibatches random numbers")
	}
	return m.Minimize(ctx, p, rng)
}

// check returns an error unless p has a loss and rows.
func (p Problem) check() error {
	switch {
	case p.Loss == nil:
		return fmt.Errorf("optim: there is no loss to minimize; give the problem a Loss")
	case p.Rows <= 0:
		return fmt.Errorf("optim: there are no rows to fit")
	}
	return nil
}

// Result is how a fit ended.
type Result struct {
	Status       Status
	Ended        string  // the same in words, with the numbers of the fit
	Epochs       int     // epochs, iterations or steps run
	Best         int     // the epoch whose weights are kept
	Loss         float64 // training loss of that epoch
	Validation   float64 // validation loss of that epoch, NaN without validation
	GradientNorm float64 // ∞-norm of the full gradient at the end; NaN if not computed
	Curve        []Point // how the losses went, an epoch or iteration each
	// Optimum tells whether the loss has an optimum there; nil where it was not asked for.
	Optimum *Optimum
	// Residual is the gradient of the loss over all rows where a fit in minibatches ended; nil where it was not asked
	// for.
	Residual *Residual
}

// String describes how the fit ended: "stopped early after epoch 72, no better validation loss in 10 epochs; epoch
// 62 was best and is kept".
func (r Result) String() string {
	switch {
	case len(r.Curve) == 0:
		return r.Ended
	case !math.IsNaN(r.GradientNorm):
		return fmt.Sprintf("%d iterations, %s", r.Epochs, r.Ended)
	case r.Best == r.Epochs:
		return fmt.Sprintf("%s, and the last was best", r.Ended)
	case r.Converged():
		return fmt.Sprintf("stopped early after epoch %d, %s; epoch %d was best and is kept", r.Epochs, r.Ended, r.Best)
	}
	return fmt.Sprintf("%s; epoch %d was best and is kept", r.Ended, r.Best)
}

// Point is a fit after an epoch or an iteration.
type Point struct {
	Epoch      int     // from 1
	Loss       float64 // mean training loss of the epoch's steps
	Validation float64 // NaN without validation
	// Gradient is the ∞-norm of the full gradient after an iteration over all rows; in an epoch of steps the mean of
	// their gradients' Euclidean norms, where [Settings].Norms asks for it. NaN where it is not known.
	Gradient float64
}

// Converged reports whether the fit ended because it was done, not because it had to.
func (r Result) Converged() bool { return r.Status.Converged() }

// Status is why a fit ended.
type Status int

const (
	Unfinished         Status = iota // it was interrupted, or failed, or goes on
	Stationary                       // the gradient is as small as was asked
	Level                            // the loss falls by less than was asked
	NoBetterValidation               // no better validation loss in as many epochs as were asked
	StartKept                        // there was nothing to run
	Limit                            // all epochs or iterations were run
	Stalled                          // no step lowers the loss any more
	OnBound                          // the minimum lies on a bound, or beyond it
)

// Converged reports whether the fit was done.
func (s Status) Converged() bool {
	return s == Stationary || s == Level || s == NoBetterValidation || s == StartKept
}

// String describes it in a few words.
func (s Status) String() string {
	return [...]string{
		"unfinished", "small gradient", "level loss", "no better validation loss", "start kept", "limit reached", "no lower loss", "on a bound",
	}[s]
}

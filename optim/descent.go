package optim

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"calibra/graph"
)

// Descent minimizes a loss by steps of a [Rule] where no validation rows are asked, as [LBFGS] does without one: the
// loss itself over all rows decides when to stop and which weights are kept, the start among them, so that no fit ends
// worse than it began. Its result states loss and gradient there, and has converged where the gradient is within
// LBFGS's 1e-6.
type Descent struct{ Settings }

var _ Method = Descent{}

func (d Descent) Minimize(ctx context.Context, p Problem, rng *rand.Rand) (Result, error) {
	of, _ := LBFGS{}.withDefaults()
	whole, err := newFullBatch(p, rowsAtOnce, d.Executor)
	if err != nil {
		return Result{}, err
	}
	defer whole.gradients.Close()
	measure := func() (float64, error) {
		whole.at = nil
		return whole.loss(p.Loss.Weights().Vector()), whole.err
	}
	p.Validation = func(s graph.Session) (float64, error) {
		if err := graph.Fetch(s); err != nil {
			return 0, err
		}
		return measure()
	}
	d.KeepStart = true
	r, err := d.Settings.Minimize(ctx, p, rng)
	if err != nil {
		return r, err
	}
	if r.Loss, err = measure(); err != nil {
		return r, err
	}
	r.Validation, r.GradientNorm = math.NaN(), largest(whole.grad)
	status, ended := r.Status, r.Ended
	if status == NoBetterValidation {
		status, ended = Stalled, fmt.Sprintf("no lower loss in %d epochs", r.Epochs-r.Best)
		if r.Best == 0 {
			ended += " than at the start, which is kept"
		}
	}
	return r.ended(r.stationaryWithin(of.Gradient, status), "%s; the gradient is %.1e", ended, r.GradientNorm)
}

package optim

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"calibra/graph"

	"gorgonia.org/tensor"
)

// Problem is a mean loss over rows 0…Rows−1.
type Problem struct {
	Loss *graph.Objective
	Rows int
	// Validation is the loss that decides when to stop and which weights to keep.
	// Without it a fit runs all its epochs and keeps the last weights.
	Validation func() (float64, error)
}

// Settings of [Minimize]. The zero value is what the paper trains
// with, but for the weight decay of 1e-3 that package layers sets.
//
// A fit on a device (package cuda) holds it to its end: Observe and a problem's Validation must
// neither fit nor measure local metrics there, which would wait for the fit that waits for them.
type Settings struct {
	Rule     Rule        // nil: Adam{} with its defaults
	Batch    int         // rows per step; 0: 128
	Epochs   int         // at most; 0: 100
	Patience int         // epochs without a better validation loss before stopping; 0: 10
	Observe  func(Epoch) // called after each epoch; may be nil
}

func (s Settings) withDefaults() Settings {
	if s.Rule == nil {
		s.Rule = Adam{}
	}
	for _, d := range []struct {
		v    *int
		zero int
	}{{&s.Batch, 128}, {&s.Epochs, 100}, {&s.Patience, 10}} {
		if *d.v == 0 {
			*d.v = d.zero
		}
	}
	return s
}

// Epoch is what an observer sees of a fit.
type Epoch struct {
	Number     int     // from 1
	Of         int     // the most there can be
	Loss       float64 // mean training loss of the epoch's steps
	Validation float64 // NaN without validation
	Best       int     // the epoch whose weights would be kept now
	Last       bool    // no epoch follows
	// Device is how long the epoch's steps took a CUDA device by its own clock; 0 on the CPU.
	Device time.Duration
}

// Result tells how a fit ended.
type Result struct {
	Epochs       int     // epochs run
	Best         int     // the epoch whose weights are kept
	Loss         float64 // training loss of that epoch
	Validation   float64 // validation loss of that epoch, NaN without validation
	Ended        string  // why the fit ended, in words
	Converged    bool    // whether it ended because it was done, not because it had to
	GradientNorm float64 // ∞-norm of the full gradient at the end; NaN if not computed
}

// Minimize fits p's learned weights in place by steps over shuffled minibatches;
// the last batch of an epoch is as short as it falls. The best weights by
// validation loss, updated state included, are restored at the end.
//
// A loss or gradient that is not finite ends the fit with an error naming epoch,
// batch and weight. If ctx is cancelled the best weights so far are restored and
// the error wraps ctx.Err().
func Minimize(ctx context.Context, p Problem, s Settings, rng *rand.Rand) (Result, error) {
	s = s.withDefaults()
	if p.Rows <= 0 {
		return Result{}, fmt.Errorf("optim: there are no rows to fit")
	}
	if s.Batch < 0 || s.Epochs < 0 || s.Patience < 0 {
		return Result{}, fmt.Errorf("optim: batch %d, epochs %d and patience %d must be positive", s.Batch, s.Epochs, s.Patience)
	}
	order := graph.Rows(0, p.Rows)
	shuffle := func() { rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] }) }
	shuffle() // first, wherever the steps run: to describe the loss may draw from rng too
	place, err := newPlace(p, s)
	if err != nil {
		return Result{}, err
	}
	defer place.close()

	r := Result{Validation: math.Inf(1), GradientNorm: math.NaN()}
	keep := func(epoch int, loss, validation float64) error {
		r.Best, r.Loss, r.Validation = epoch, loss, validation
		return place.keep()
	}
	for epoch := 1; epoch <= s.Epochs; epoch++ {
		if epoch > 1 {
			shuffle()
		}
		loss, err := place.epoch(ctx, order)
		if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			return r, errors.Join(fmt.Errorf("interrupted in epoch %d; the weights of epoch %d are kept: %w", epoch, r.Best, err), place.restore())
		}
		if err != nil {
			return r, fmt.Errorf("optim: epoch %d, %w", epoch, err)
		}
		validation := math.NaN()
		r.Epochs = epoch
		if p.Validation != nil {
			if validation, err = p.Validation(); err != nil {
				return r, fmt.Errorf("optim: validation after epoch %d: %w", epoch, err)
			}
			if math.IsNaN(validation) || math.IsInf(validation, 0) {
				return r, fmt.Errorf("optim: the validation loss after epoch %d is not finite", epoch)
			}
		}
		if p.Validation == nil || validation < r.Validation {
			if err := keep(epoch, loss, validation); err != nil {
				return r, err
			}
		}
		stalled := epoch-r.Best >= s.Patience
		if s.Observe != nil {
			s.Observe(Epoch{epoch, s.Epochs, loss, validation, r.Best, stalled || epoch == s.Epochs, place.elapsed()})
		}
		if stalled {
			r.Converged = true
			r.Ended = fmt.Sprintf("no better validation loss in %d epochs", s.Patience)
			break
		}
	}
	if !r.Converged {
		r.Ended = fmt.Sprintf("all %d epochs were run", s.Epochs)
	}
	return r, place.restore()
}

// nonFinite names the loss or the first weight whose gradient is not finite.
func nonFinite(w *graph.Weights, loss float64, grads []*tensor.Dense) (string, bool) {
	if math.IsNaN(loss) || math.IsInf(loss, 0) {
		return "the loss", true
	}
	for i, name := range w.Learned() {
		if !finite(grads[i]) {
			return "the gradient of " + name, true
		}
	}
	return "", false
}

func finite(t *tensor.Dense) bool {
	if t.Dtype() == tensor.Float32 {
		return allFinite(t.Float32s())
	}
	return allFinite(t.Float64s())
}

// allFinite uses that x − x is 0 for every finite x and NaN for the others.
func allFinite[F float32 | float64](x []F) bool {
	return !slices.ContainsFunc(x, func(v F) bool { return v-v != 0 })
}

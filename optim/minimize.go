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

// Settings are a [Method]: steps by a [Rule] over shuffled minibatches. The zero value has the
// paper's settings, except for the weight decay of 1e-3 that package layers sets.
type Settings struct {
	Rule     Rule           // nil: Adam{} with its defaults
	Batch    int            // rows per step; 0: 128
	Epochs   int            // at most; 0: 100, NoEpochs: none, and the start is kept
	Patience int            // epochs without a better validation loss before stopping; 0: 10
	Observe  func(Epoch)    // called after each epoch; may be nil
	Executor graph.Executor // where the fit runs; nil: in this process
	// Norms measures the norm of each step's gradient, for [Point].Gradient. On a device it is not known.
	Norms bool
	// KeepStart lets the weights before the first epoch, as epoch 0, be the best by
	// validation loss, so a fit that starts at a good map cannot make it worse. The
	// published code does not do this.
	KeepStart bool
	// Average is the average of the weights after each step that is validated and kept; nil: the
	// last weights are. Weights that a graph updates are not averaged.
	Average Average
	// Start is the state of the rule at the end of an earlier fit, from [Epoch.State]; nil: none.
	Start *graph.Weights
}

// NoEpochs is how many epochs a fit runs that is to keep its start.
const NoEpochs = -1

func (s Settings) withDefaults() (Settings, error) {
	if s.Batch < 0 || s.Epochs < NoEpochs || s.Patience < 0 {
		return s, fmt.Errorf("optim: batch %d, epochs %d and patience %d must be positive", s.Batch, s.Epochs, s.Patience)
	}
	s.Rule = cmp.Or[Rule](s.Rule, Adam{})
	s.Batch, s.Epochs, s.Patience = cmp.Or(s.Batch, 128), cmp.Or(s.Epochs, 100), cmp.Or(s.Patience, 10)
	return s, nil
}

// Epoch shows one epoch of a fit to an observer.
type Epoch struct {
	Number     int     // from 1
	Of         int     // the most there can be
	Loss       float64 // mean training loss of the epoch's steps
	Validation float64 // NaN without validation
	Gradient   float64 // see [Point]
	Rate       float64 // η of the last step, by its schedule; NaN of a rule without a [Rate] and over all rows
	Best       int     // the epoch whose weights would be kept now

	session   graph.Session
	optimizer *optimizer
	weights   *graph.Weights
}

// Fetch brings the weights of the fit into memory, where they are not always.
func (e Epoch) Fetch() error { return graph.Fetch(e.session) }

// Weights are the weights of the fit after the epoch, in memory. Do not change them.
func (e Epoch) Weights() (*graph.Weights, error) { return e.weights, e.Fetch() }

// State is the state of the rule, for a fit that goes on from here: see [Settings.Start].
func (e Epoch) State() (*graph.Weights, error) {
	if err := e.Fetch(); err != nil {
		return nil, err
	}
	return e.optimizer.state(), nil
}

// Minimize fits p's learned weights in place by steps over shuffled minibatches;
// the last batch of an epoch is as short as it falls. The best weights by
// validation loss, updated state included, are restored at the end.
//
// Of [NoEpochs] nothing is run, and rng is left as it is.
//
// A loss or gradient that is not finite ends the fit with an error naming epoch,
// batch and weight. If ctx is cancelled the best weights so far are restored and
// the error wraps ctx.Err().
func (s Settings) Minimize(ctx context.Context, p Problem, rng *rand.Rand) (Result, error) {
	s, err := s.withDefaults()
	if err = cmp.Or(err, p.check()); err != nil {
		return Result{}, err
	}
	if s.Epochs == NoEpochs {
		return Result{Loss: math.NaN(), Validation: math.NaN(), GradientNorm: math.NaN(), Ended: "the start is kept", Status: StartKept}, nil
	}
	order := graph.Rows(0, p.Rows)
	shuffle := func() { rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] }) }
	shuffle() // first, wherever the steps run: to describe the loss may draw from rng too
	steps := s.Epochs * ((p.Rows + s.Batch - 1) / s.Batch)
	state := newOptimizer(s.Rule, s.Average, p.Loss.Weights(), steps)
	if err := state.resume(s.Start); err != nil {
		return Result{}, err
	}
	if s.Norms {
		state.norms = &norms{}
	}
	session, err := graph.On(s.Executor).Fit(p.Loss, state, p.Rows, s.Batch)
	if err != nil {
		return Result{}, fmt.Errorf("optim: %w", err)
	}
	defer session.Close()

	f := &fit{problem: p, settings: s, session: session, state: state, result: Result{Validation: math.Inf(1), GradientNorm: math.NaN()}}
	if s.KeepStart && p.Validation != nil {
		if err := f.keepStart(); err != nil {
			return f.result, err
		}
	}
	for epoch := 1; epoch <= s.Epochs && f.result.Status == Unfinished; epoch++ {
		if epoch > 1 {
			shuffle()
		}
		if err := f.epoch(ctx, epoch, order); err != nil {
			return f.result, err
		}
	}
	if f.result.Status == Unfinished {
		f.result.Status = Limit
		f.result.Ended = fmt.Sprintf("all %d epochs were run", s.Epochs)
	}
	return f.result, session.Restore()
}

// fit is a fit that runs.
type fit struct {
	problem  Problem
	settings Settings
	session  graph.Session
	state    *optimizer
	result   Result
}

// keep makes the weights as they are the best so far.
func (f *fit) keep(epoch int, loss, validation float64) error {
	f.result.Best, f.result.Loss, f.result.Validation = epoch, loss, validation
	return f.session.Keep()
}

// keepStart keeps the weights before the first epoch, if their validation loss is finite.
func (f *fit) keepStart() error {
	validation, err := f.problem.Validation(f.session)
	if err != nil {
		return fmt.Errorf("optim: validation before the first epoch: %w", err)
	}
	if math.IsNaN(validation) || math.IsInf(validation, 0) {
		return nil
	}
	return f.keep(0, math.NaN(), validation)
}

// validate keeps the weights as they are after an epoch, of that training loss, if their validation loss is the least
// so far, or there is none. It gives that validation loss.
func (f *fit) validate(epoch int, loss float64) (validation float64, err error) {
	if f.problem.Validation == nil {
		return math.NaN(), f.keep(epoch, loss, math.NaN())
	}
	if validation, err = f.problem.Validation(f.session); err != nil {
		return 0, fmt.Errorf("optim: validation after epoch %d: %w", epoch, err)
	}
	if math.IsNaN(validation) || math.IsInf(validation, 0) {
		return 0, fmt.Errorf("optim: the validation loss after epoch %d is not finite", epoch)
	}
	if validation < f.result.Validation {
		err = f.keep(epoch, loss, validation)
	}
	return validation, err
}

// epoch takes the steps of an epoch, in the order of rows given, and judges what they made.
func (f *fit) epoch(ctx context.Context, epoch int, order []int32) error {
	r := &f.result
	loss, err := f.session.Epoch(ctx, order)
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return errors.Join(fmt.Errorf("interrupted in epoch %d; the weights of epoch %d are kept: %w", epoch, r.Best, err), f.session.Restore())
	}
	if err != nil {
		return fmt.Errorf("optim: epoch %d, %w", epoch, err)
	}
	if err := exchangeAverage(f.session, f.state); err != nil {
		return err
	}
	r.Epochs = epoch
	validation, err := f.validate(epoch, loss)
	if err != nil {
		return err
	}
	stalled := epoch-r.Best >= f.settings.Patience
	e := Epoch{
		Number: epoch, Of: f.settings.Epochs, Loss: loss, Validation: validation, Gradient: f.state.norms.take(), Rate: f.state.rate(), Best: r.Best,
		session: f.session, optimizer: f.state, weights: f.problem.Loss.Weights(),
	}
	r.Curve = append(r.Curve, Point{epoch, loss, validation, e.Gradient})
	r.report(ctx, "epoch", e.Of, min(1, float64(epoch)/e.expected(f.settings.Patience)))
	if f.settings.Observe != nil {
		f.settings.Observe(e)
	}
	if err := exchangeAverage(f.session, f.state); err != nil {
		return err
	}
	if stalled {
		r.Status = NoBetterValidation
		r.Ended = fmt.Sprintf("no better validation loss in %d epochs", f.settings.Patience)
	}
	return nil
}

// exchangeAverage puts the average in place of the weights, and back.
func exchangeAverage(s graph.Session, m *optimizer) error {
	if m.average == nil {
		return nil
	}
	if err := graph.Fetch(s); err != nil {
		return err
	}
	m.swap()
	return graph.Send(s)
}

// expected is how many epochs a fit should run in all. One that still improves is expected to go on for as long again,
// and then for its patience; as that runs out, it is expected to end with it.
func (e Epoch) expected(patience int) float64 {
	if math.IsNaN(e.Validation) {
		return float64(e.Of)
	}
	waited := float64(e.Number-e.Best) / float64(patience)
	return min(float64(e.Of), float64(e.Best)*(2-waited)+float64(patience))
}

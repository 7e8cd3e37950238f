package optim

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"calibra/graph"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/optimize"
)

// LBFGSSettings of [LBFGS] and [BFGS]. The zero value is what the convex baselines
// are fitted with.
type LBFGSSettings struct {
	Gradient   float64     // the ∞-norm of the full gradient to reach; 0: 1e-6
	Iterations int         // line searches at most; 0: 2000
	Rows       int         // rows evaluated at once, which bounds memory; 0: 4096
	Store      int         // pairs of differences kept, LBFGS only; 0: 20
	Observe    func(Epoch) // called after each iteration; may be nil
}

func (s LBFGSSettings) withDefaults() (LBFGSSettings, error) {
	if s.Gradient < 0 || s.Iterations < 0 || s.Rows < 0 || s.Store < 0 {
		return s, fmt.Errorf("optim: gradient %g, iterations %d, rows %d and store %d must be positive", s.Gradient, s.Iterations, s.Rows, s.Store)
	}
	s.Gradient = orDefault(s.Gradient, 1e-6)
	for _, d := range []struct {
		v    *int
		zero int
	}{{&s.Iterations, 2000}, {&s.Rows, 4096}, {&s.Store, 20}} {
		if *d.v == 0 {
			*d.v = d.zero
		}
	}
	return s, nil
}

// LBFGS minimizes p's loss over all its rows by the limited-memory BFGS method
// (Nocedal 1980) with the strong-Wolfe line search of Moré and Thuente (1994), both
// gonum's, to a gradient whose ∞-norm the result states. It is for smooth losses of
// float64 weights; p.Validation is not looked at.
//
// A fit that ends before the gradient is as small as asked says so in Ended and is
// not Converged. If ctx is cancelled the best weights so far are kept and the error
// wraps ctx.Err().
func LBFGS(ctx context.Context, p Problem, s LBFGSSettings) (Result, error) {
	s, err := s.withDefaults()
	if err != nil {
		return Result{}, err
	}
	return quasiNewton(ctx, p, s, func() optimize.Method {
		return &optimize.LBFGS{Linesearcher: wolfe(), Store: s.Store, GradStopThreshold: math.NaN()}
	})
}

// BFGS is [LBFGS] with the whole inverse Hessian, which fewer iterations and memory
// quadratic in the number of weights make worthwhile below about a thousand.
func BFGS(ctx context.Context, p Problem, s LBFGSSettings) (Result, error) {
	if s.Store != 0 {
		return Result{}, fmt.Errorf("optim: BFGS keeps the whole inverse Hessian and has no use for a store of %d", s.Store)
	}
	s, err := s.withDefaults()
	if err != nil {
		return Result{}, err
	}
	return quasiNewton(ctx, p, s, func() optimize.Method {
		return &optimize.BFGS{Linesearcher: wolfe(), GradStopThreshold: math.NaN()}
	})
}

// wolfe has the constants of Nocedal and Wright (2006), section 3.1.
func wolfe() optimize.Linesearcher {
	return &optimize.MoreThuente{DecreaseFactor: 1e-4, CurvatureFactor: 0.9}
}

// quasiNewton lets gonum minimize p. Where a line search fails, which near the
// rounding error of the loss it does, the method starts afresh from the best point
// without its history; a second failure in a row without progress ends the fit.
func quasiNewton(ctx context.Context, p Problem, s LBFGSSettings, method func() optimize.Method) (Result, error) {
	f, err := newFullBatch(p, s.Rows)
	if err != nil {
		return Result{}, err
	}
	r := Result{Validation: math.NaN(), GradientNorm: math.NaN()}
	if s.Observe != nil {
		defer func() {
			last := epochOf(r.Epochs, r.Loss, s)
			last.Last = true
			s.Observe(last)
		}()
	}
	x := f.start()
	for {
		before := r.Epochs
		steps := &recorder{ctx: ctx, f: f, result: &r, settings: s}
		out, err := optimize.Minimize(
			optimize.Problem{Func: f.loss, Grad: f.gradient, Status: steps.status}, x,
			&optimize.Settings{
				GradientThreshold: s.Gradient, MajorIterations: s.Iterations - r.Epochs + 1, // gonum counts the start
				FuncEvaluations: 20 * s.Iterations, // a search among infinite losses need not end by itself
				Converger:       optimize.NeverTerminate{}, Recorder: steps,
			}, method())
		if out != nil && out.Location.Gradient != nil {
			x = out.X
			r.Epochs = before + max(out.Stats.MajorIterations-1, 0) // the last one is not recorded
			r.Loss, r.Best = out.F, r.Epochs
			r.GradientNorm = floats.Norm(out.Gradient, math.Inf(1))
			f.set(x)
		}
		switch {
		case f.err != nil:
			return r, f.err
		case ctx.Err() != nil:
			r.Ended = "interrupted"
			return r, fmt.Errorf("interrupted in iteration %d; the best weights so far are kept: %w", r.Epochs, ctx.Err())
		case out == nil:
			return r, fmt.Errorf("optim: %w", err)
		case r.GradientNorm < s.Gradient:
			r.Converged = true
			r.Ended = fmt.Sprintf("the gradient is %.1e", r.GradientNorm)
			return r, nil
		case r.Epochs >= s.Iterations:
			r.Ended = fmt.Sprintf("all %d iterations were run; the gradient is %.1e, not below %.1e", s.Iterations, r.GradientNorm, s.Gradient)
			return r, nil
		case r.Epochs == before:
			r.Ended = fmt.Sprintf("no lower loss was found; the gradient is %.1e, not below %.1e", r.GradientNorm, s.Gradient)
			return r, nil
		case err != nil && !slices.ContainsFunc(searchFailures, func(e error) bool { return errors.Is(err, e) }):
			return r, fmt.Errorf("optim: %w", err)
		}
	}
}

func epochOf(iteration int, loss float64, s LBFGSSettings) Epoch {
	return Epoch{Number: iteration, Of: s.Iterations, Loss: loss, Validation: math.NaN(), Best: iteration}
}

var searchFailures = []error{
	optimize.ErrLinesearcherFailure, optimize.ErrLinesearcherBound, optimize.ErrNoProgress, optimize.ErrNonDescentDirection,
}

// recorder counts gonum's iterations, watches the context, and reports.
type recorder struct {
	ctx      context.Context
	f        *fullBatch
	result   *Result
	settings LBFGSSettings
	started  bool
}

func (*recorder) Init() error { return nil }

func (r *recorder) Record(at *optimize.Location, op optimize.Operation, _ *optimize.Stats) error {
	if op != optimize.MajorIteration {
		return nil
	}
	if !r.started { // the first one is the starting point
		r.started = true
		return nil
	}
	r.result.Epochs++
	if r.settings.Observe != nil {
		r.settings.Observe(epochOf(r.result.Epochs, at.F, r.settings))
	}
	return nil
}

// status ends the run after an evaluation that failed or was not wanted any more.
func (r *recorder) status() (optimize.Status, error) {
	if r.f.err != nil || r.ctx.Err() != nil {
		return optimize.RuntimeLimit, nil
	}
	return optimize.NotTerminated, nil
}

// fullBatch is a problem's loss over all rows as a function of one vector: its
// learned weights, laid end to end. The rows are evaluated in pieces, in a fixed
// order.
type fullBatch struct {
	problem Problem
	pieces  [][]int32
	weights [][]float64 // the memory of the learned weights
	at      []float64   // where value and slope were computed
	value   float64
	slope   []float64
	err     error
}

func newFullBatch(p Problem, rows int) (*fullBatch, error) {
	if p.Rows <= 0 {
		return nil, fmt.Errorf("optim: there are no rows to fit")
	}
	f := &fullBatch{problem: p}
	for lo := 0; lo < p.Rows; lo += rows {
		f.pieces = append(f.pieces, graph.Rows(lo, min(lo+rows, p.Rows)))
	}
	w, n := p.Loss.Weights(), 0
	for _, name := range w.Learned() {
		values, double := w.Tensor(name).Data().([]float64)
		if !double {
			return nil, fmt.Errorf("optim: weight %q is not float64, in which full batches are minimized", name)
		}
		f.weights = append(f.weights, values)
		n += len(values)
	}
	if n == 0 {
		return nil, fmt.Errorf("optim: there is no learned weight to fit")
	}
	f.slope = make([]float64, n)
	return f, nil
}

func (f *fullBatch) start() []float64 {
	var x []float64
	for _, w := range f.weights {
		x = append(x, w...)
	}
	return x
}

func (f *fullBatch) set(x []float64) {
	for _, w := range f.weights {
		x = x[copy(w, x):]
	}
}

func (f *fullBatch) loss(x []float64) float64 {
	f.evaluate(x)
	return f.value
}

func (f *fullBatch) gradient(grad, x []float64) {
	f.evaluate(x)
	copy(grad, f.slope)
}

// evaluate computes value and slope at x, unless they are there already. A value
// that is not finite is an infinite loss, from which a line search turns back; at
// the start it is an error.
func (f *fullBatch) evaluate(x []float64) {
	if f.err != nil || floats.Equal(x, f.at) {
		return
	}
	first := f.at == nil
	f.at = append(f.at[:0], x...)
	f.set(x)
	f.value = 0
	clear(f.slope)
	for _, rows := range f.pieces {
		share := float64(len(rows)) / float64(f.problem.Rows)
		loss, grads, err := f.problem.Loss.Gradient(rows)
		if err != nil {
			f.err = err
			return
		}
		if name, bad := nonFinite(f.problem.Loss.Weights(), loss, grads); bad {
			if first {
				f.err = fmt.Errorf("optim: at the start %s is not finite (it starts at %s)", name, f.problem.Loss.NonFinite(len(rows)))
			}
			f.value = math.Inf(1)
			clear(f.slope)
			return
		}
		f.value += share * loss
		at := 0
		for _, g := range grads {
			n := g.DataSize()
			floats.AddScaled(f.slope[at:at+n], share, g.Float64s())
			at += n
		}
	}
}

package optim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"calibra/graph"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/optimize"
	"gorgonia.org/tensor"
)

// LBFGS minimizes p's loss over all its rows by the limited-memory BFGS method (Nocedal 1980) with gonum's strong-Wolfe
// line search of Moré and Thuente (1994), to a gradient whose ∞-norm the result states. It is for smooth losses, of
// float64 weights or, if a gradient of some 1e-5 is small enough, of float32 weights, whose steps are still computed in
// float64. It ignores p.Validation. The convex baselines are fitted with the zero value.
type LBFGS struct {
	Gradient   float64        // the ∞-norm of the full gradient to reach; 0: 1e-6
	Decrease   float64        // ends the fit once ten iterations lower the loss by less; 0: never
	Iterations int            // line searches at most; 0: 2000
	Rows       int            // rows evaluated at once, which bounds memory; 0: 4096
	Store      int            // pairs of differences kept; 0: 20, or as many as make 2²⁴ numbers, and 5 at least
	Executor   graph.Executor // where loss and gradient are computed; nil: in this process
}

var _ Method = LBFGS{}

func (s LBFGS) withDefaults() (LBFGS, error) {
	if s.Gradient < 0 || s.Decrease < 0 || s.Iterations < 0 || s.Rows < 0 || s.Store < 0 {
		return s, fmt.Errorf("optim: gradient %g, decrease %g, iterations %d, rows %d and store %d must be positive", s.Gradient, s.Decrease, s.Iterations, s.Rows, s.Store)
	}
	s.Gradient, s.Iterations, s.Rows = cmp.Or(s.Gradient, 1e-6), cmp.Or(s.Iterations, 2000), cmp.Or(s.Rows, rowsAtOnce)
	return s, nil
}

// rowsAtOnce bound the memory of an evaluation over all rows.
const rowsAtOnce = 4096

// decreaseIterations are those that Decrease is measured over.
const decreaseIterations = 10

// settings are gonum's for the iterations that are left.
func (s LBFGS) settings(steps *recorder) *optimize.Settings {
	out := &optimize.Settings{
		GradientThreshold: s.Gradient,
		MajorIterations:   s.Iterations - steps.result.Epochs + 1, // gonum counts the start
		FuncEvaluations:   20 * s.Iterations,                      // a search among infinite losses need not end by itself
		Recorder:          steps,
		Converger:         optimize.NeverTerminate{},
	}
	if s.Decrease > 0 {
		out.Converger = &optimize.FunctionConverge{Absolute: s.Decrease, Iterations: decreaseIterations}
	}
	return out
}

// storedNumbers are 128 MB of differences: an iteration goes through all of them twice.
const storedNumbers = 1 << 24

// storeOf is how many pairs of differences of n numbers are kept.
func storeOf(n int) int { return min(20, max(5, storedNumbers/(2*max(n, 1)))) }

// Constants of the Wolfe conditions (Nocedal and Wright 2006, section 3.1).
const (
	wolfeDecrease  = 1e-4
	wolfeCurvature = 0.9
)

// singleResolution is the part of a float32 loss below which its digits are noise.
const singleResolution = 1e-6

// search is the line search for losses of a type.
func search(dt tensor.Dtype) optimize.Linesearcher {
	exact := &optimize.MoreThuente{DecreaseFactor: wolfeDecrease, CurvatureFactor: wolfeCurvature}
	if dt == tensor.Float32 {
		return &approximateWolfe{MoreThuente: exact}
	}
	return exact
}

// approximateWolfe ends a search where the slopes satisfy the Wolfe conditions, on a
// parabola both of them, and the loss has not risen beyond its rounding error (Hager
// and Zhang 2005): near the minimum a float32 loss cannot show its decrease, but its
// slope can.
type approximateWolfe struct {
	*optimize.MoreThuente
	loss, slope float64 // at the start
}

func (a *approximateWolfe) Init(f, g, step float64) optimize.Operation {
	a.loss, a.slope = f, g
	return a.MoreThuente.Init(f, g, step)
}

func (a *approximateWolfe) Iterate(f, g float64) (optimize.Operation, float64, error) {
	flat := f <= a.loss+singleResolution*math.Abs(a.loss)
	if flat && wolfeCurvature*a.slope <= g && g <= (2*wolfeDecrease-1)*a.slope {
		return optimize.MajorIteration, 0, nil
	}
	return a.MoreThuente.Iterate(f, g)
}

// Minimize lets gonum minimize p. If a line search fails, as it does near the
// rounding error of the loss, the method starts again from the best point
// without its history; a second failure in a row without progress ends the fit. If the fit ends before the
// gradient, or the decrease of the loss, is as small as asked, Ended says so and the fit has not converged.
func (s LBFGS) Minimize(ctx context.Context, p Problem, _ *rand.Rand) (Result, error) {
	s, err := s.withDefaults()
	if err != nil {
		return Result{}, err
	}
	f, err := newFullBatch(p, s.Rows, s.Executor)
	if err != nil {
		return Result{}, err
	}
	store := cmp.Or(s.Store, storeOf(p.Loss.Weights().Size()))
	defer f.gradients.Close()
	r := Result{Validation: math.NaN(), GradientNorm: math.NaN()}
	x := p.Loss.Weights().Vector()
	for {
		before := r.Epochs
		steps := &recorder{ctx: ctx, f: f, result: &r, of: s.Iterations}
		out, err := optimize.Minimize(
			optimize.Problem{Func: f.loss, Grad: f.gradient, Status: steps.status}, x,
			s.settings(steps), &optimize.LBFGS{Linesearcher: search(p.Loss.Weights().Dtype()), Store: store, GradStopThreshold: math.NaN()})
		if out != nil && out.Location.Gradient != nil {
			x = out.X
			r.Epochs = before + max(out.Stats.MajorIterations-1, 0) // the last one is not recorded
			r.Loss, r.Best = out.F, r.Epochs
			r.GradientNorm = largest(out.Gradient)
			p.Loss.Weights().SetVector(x)
		}
		switch {
		case f.err != nil:
			return r, f.err
		case ctx.Err() != nil:
			return r.interrupted(ctx.Err())
		case out == nil:
			return r, fmt.Errorf("optim: %w", err)
		case r.GradientNorm < s.Gradient:
			return r.ended(Stationary, smallGradient, r.GradientNorm)
		case out.Status == optimize.FunctionConvergence:
			return r.ended(Level, "%d iterations lowered the loss by less than %.0e", decreaseIterations, s.Decrease)
		case r.Epochs >= s.Iterations:
			return r.ended(Limit, allWereRun, s.Iterations, r.GradientNorm, s.Gradient)
		case r.Epochs == before:
			return r.ended(Stalled, noLowerLoss, r.GradientNorm, s.Gradient)
		case err != nil && !slices.ContainsFunc(searchFailures, func(e error) bool { return errors.Is(err, e) }):
			return r, fmt.Errorf("optim: %w", err)
		}
	}
}

var searchFailures = []error{
	optimize.ErrLinesearcherFailure, optimize.ErrLinesearcherBound, optimize.ErrNoProgress, optimize.ErrNonDescentDirection,
}

// longestSearch is how many losses and gradients one line search may evaluate. A
// search that wants more is lost in the rounding errors of the loss.
const longestSearch = 40

// recorder counts gonum's iterations, watches the context, and reports.
type recorder struct {
	ctx      context.Context
	f        *fullBatch
	result   *Result
	of       int // iterations at most
	started  bool
	searched int // evaluations of the line search so far
}

func (*recorder) Init() error { return nil }

func (r *recorder) Record(at *optimize.Location, op optimize.Operation, _ *optimize.Stats) error {
	if op != optimize.MajorIteration {
		return nil
	}
	r.searched = 0
	if !r.started { // the first one is the starting point
		r.started = true
		return nil
	}
	r.result.next(r.ctx, r.of, at.F, at.Gradient)
	return nil
}

// status ends the run after an evaluation that failed or was not wanted any more.
func (r *recorder) status() (optimize.Status, error) {
	if r.f.err != nil || r.ctx.Err() != nil {
		return optimize.RuntimeLimit, nil
	}
	if r.searched++; r.searched > longestSearch {
		return optimize.Failure, optimize.ErrLinesearcherFailure
	}
	return optimize.NotTerminated, nil
}

// fullBatch is a problem's loss over all rows as a function of one vector: its
// learned weights, laid end to end. The rows are evaluated in pieces, in a fixed
// order.
type fullBatch struct {
	problem   Problem
	gradients graph.Gradients
	pieces    [][]int32
	at        []float64 // where value and grad were computed
	value     float64
	grad      []float64
	err       error
}

func newFullBatch(p Problem, rows int, e graph.Executor) (*fullBatch, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	f := &fullBatch{problem: p}
	for lo := 0; lo < p.Rows; lo += rows {
		f.pieces = append(f.pieces, graph.Rows(lo, min(lo+rows, p.Rows)))
	}
	n := p.Loss.Weights().Size()
	if n == 0 {
		return nil, fmt.Errorf("optim: there is no learned weight to fit")
	}
	gradients, err := graph.On(e).Gradients(p.Loss, len(f.pieces[0]))
	if err != nil {
		return nil, fmt.Errorf("optim: %w", err)
	}
	f.grad, f.gradients = make([]float64, n), gradients
	return f, nil
}

func (f *fullBatch) loss(x []float64) float64 {
	f.evaluate(x)
	return f.value
}

func (f *fullBatch) gradient(grad, x []float64) {
	f.evaluate(x)
	copy(grad, f.grad)
}

// evaluate computes value and gradient at x, unless they are there already. A value
// that is not finite is an infinite loss, from which a line search turns back; at
// the start it is an error.
func (f *fullBatch) evaluate(x []float64) {
	if f.err != nil || floats.Equal(x, f.at) {
		return
	}
	first := f.at == nil
	f.at = append(f.at[:0], x...)
	f.problem.Loss.Weights().SetVector(x)
	f.value = 0
	clear(f.grad)
	for _, rows := range f.pieces {
		share := float64(len(rows)) / float64(f.problem.Rows)
		loss, grads, err := f.gradients.Gradient(rows)
		if err != nil {
			f.err = err
			return
		}
		if name := f.problem.Loss.Trouble(loss, grads); name != "" {
			if first {
				if _, _, f.err = f.problem.Loss.Gradient(rows); f.err != nil { // in this process, which knows where
					return
				}
				f.err = fmt.Errorf("optim: at the start %s is not finite (it starts at %s)", name, f.problem.Loss.NonFinite(len(rows)))
			}
			f.value = math.Inf(1)
			clear(f.grad)
			return
		}
		f.value += share * loss
		at := 0
		for _, g := range grads {
			n := g.DataSize()
			floats.AddScaled(f.grad[at:at+n], share, graph.Float64s(g))
			at += n
		}
	}
}

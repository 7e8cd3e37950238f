package theory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"

	"calibra/data"
	"calibra/graph/work"
	"calibra/optim/estimate"
	"calibra/theory/internal/numeric"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Experiment estimates one model from many samples of a few populations (the
// cyclic shifts of a design) at growing sizes.
type Experiment struct {
	Trials
	Truth     *Truth
	Model     Model
	Gauge     Gauge
	Target    Target
	Limits    []Limit
	Stream    uint64 // names the experiment among those of its study
	disturbed bool   // the model cannot represent the law
}

// Outcome is what an experiment's replicates gave.
type Outcome struct {
	*Experiment
	Replicates []Replicate // of each population, each size
	Unsettled  []string    // the replicates that reached no minimum near θ*, with their seeds
	err        error       // why a question cannot be answered by them
}

// Replicate is what one sample gave: numbers are NaN where it reached no minimum near θ*.
type Replicate struct {
	Theta      []float64 // θ̂ at the representative; nil where there is none
	BlockError []float64 // the target's distance from θ*
	ThetaError float64   // ‖θ̂ − θ*‖ at the representative
	gradNorm   float64   // ‖∇L_N(θ*)‖
	Residual   float64   // ‖∇L_N(θ̂)‖ of the model itself
	Wald       float64
}

// At are the replicates of a population and a size.
func (o *Outcome) At(s, size int) []Replicate {
	return o.Replicates[(s*len(o.Sizes)+size)*o.Count:][:o.Count]
}

// values are a number of each of them.
func (o *Outcome) values(s, size int, of func(Replicate) float64) []float64 {
	return data.Each(o.At(s, size), of)
}

// Errors are those of a block.
func (o *Outcome) Errors(s, size, k int) []float64 {
	return o.values(s, size, func(x Replicate) float64 { return x.BlockError[k] })
}

// UsablePart bounds pred_k/|M*_k| of the blocks that enter a statistic: beyond it
// the first-order theory is not expected to describe the estimator.
const UsablePart = 0.35

// usable are the populations and blocks that the first-order theory is expected to describe at a size.
func (e *Experiment) usable(size int) iter.Seq2[int, int] {
	return func(yield func(s, k int) bool) {
		for s := range e.Limits {
			for k := range e.Target.Blocks() {
				if e.Relative(s, size, k) <= UsablePart && !yield(s, k) {
					return
				}
			}
		}
	}
}

// Relative is pred_k/|M*_k| at a size.
func (e *Experiment) Relative(s, size, k int) float64 {
	p := &e.Limits[s]
	return p.Predicted[k] / math.Sqrt(float64(e.Sizes[size])) / e.Target.Size(k, p.Theta)
}

// Aim makes target what is compared with θ*.
func (e *Experiment) Aim(target Target) {
	e.Target, e.Limits = target, slices.Clone(e.Limits)
	for s := range e.Limits {
		e.Limits[s].Predict(target)
	}
}

// Run draws the samples and fits each.
func (e *Experiment) Run(ctx context.Context) (*Outcome, error) {
	e.Aim(e.Target)
	if err := e.checkSizes(); err != nil {
		return nil, err
	}
	e.Laws = len(e.Limits)
	e.Law = func(x Trial) []float64 {
		if p := e.Limits[x.Law]; p.joint != nil {
			return p.joint
		}
		return e.Limits[x.Law].Weights
	}
	e.Rand = func(x Trial) *rand.Rand {
		return newRand(e.Seed, e.Stream, uint64(x.Law), uint64(x.Size), uint64(x.Replicate))
	}
	o := &Outcome{Experiment: e}
	var err error
	o.Replicates, o.Unsettled, err = RunTrials(ctx, &e.Trials, e.Model, e.replicate)
	return o, err
}

// checkSizes refuses samples in which the theory is expected to describe no block.
func (e *Experiment) checkSizes() error {
	last, least := len(e.Sizes)-1, math.Inf(1)
	for s := range e.Limits {
		for k := range e.Target.Blocks() {
			least = math.Min(least, e.Relative(s, last, k))
		}
	}
	if least <= UsablePart {
		return nil
	}
	needed := float64(e.Sizes[last]) * (least / UsablePart) * (least / UsablePart)
	return fmt.Errorf("theory: N = %d is too small: the predicted error of every block exceeds %g of its size; the best block needs N of %.1g", e.Sizes[last], UsablePart, needed)
}

// replicate fits one sample, from θ*, and returns how far the fit is from θ*.
func (e *Experiment) replicate(model Model, t Trial) (x Replicate, err error) {
	sample, at := e.Draw(t), &e.Limits[t.Law]
	if at.joint != nil {
		sample = seen(sample, len(at.Weights))
	}
	if len(sample) != len(at.Weights) {
		return x, fmt.Errorf("the Draw of the Sampler gives %d weights, not %d, one for each cell, atom and label", len(sample), len(at.Weights))
	}
	if sum := floats.Sum(sample); e.Sampler != nil && !(sum > .5 && sum < 2) { // those of reweighted rows vary about 1
		return x, fmt.Errorf("the Draw of the Sampler gives weights that sum to %.3g, not to about 1: they are shares of the rows", sum)
	}
	if p, ok := model.(interface{ precondition(*mat.SymDense) }); ok {
		p.precondition(at.Hessian)
	}
	by := &Loss{Model: model.Cheapest(), Weights: sample}
	_, grad := by.Gradient(at.Theta)
	x.gradNorm = floats.Norm(grad, 2)

	theta := slices.Clone(at.Theta)
	if err := cmp.Or(by.Err, Fit(model, e.Gauge, theta, sample)); err != nil {
		e.leave(&x)
		if far := new(UnsettledError); errors.As(err, &far) {
			err = Lost{fmt.Errorf("‖∇L‖ = %.1e, %.2g from θ*", far.Gradient, far.Distance)}
		}
		return x, err
	}
	by.Model = model
	_, grad = by.Gradient(theta)
	estimate.ProjectOff(grad, e.Gauge.Directions(theta))
	e.Gauge.Fix(theta, at.Theta)
	x.Theta, x.Residual, x.Wald = theta, floats.Norm(grad, 2), at.Wald(theta, t.N)
	x.ThetaError, x.BlockError = floats.Distance(theta, at.Theta, 2), e.distances(t.Law, theta)
	return x, by.Err
}

// leave takes what a sample gave out of the errors.
func (e *Experiment) leave(x *Replicate) {
	x.Theta, x.BlockError = nil, e.distances(0, nil)
	x.ThetaError, x.Wald, x.Residual = math.NaN(), math.NaN(), math.NaN()
}

// distances are those of the blocks at theta from θ* of a population; NaN where there is no theta.
func (e *Experiment) distances(s int, theta []float64) []float64 {
	blocks := slices.Repeat([]float64{math.NaN()}, e.Target.Blocks())
	if theta != nil {
		for k := range blocks {
			blocks[k] = e.Target.Distance(k, theta, e.Limits[s].Theta)
		}
	}
	return blocks
}

// withTarget is the same outcome with the blocks of another target.
func (o *Outcome) withTarget(target Target) *Outcome {
	e := *o.Experiment
	e.Aim(target)
	other := &Outcome{Experiment: &e, Replicates: slices.Clone(o.Replicates), Unsettled: o.Unsettled}
	for i := range other.Replicates {
		x := &other.Replicates[i]
		x.BlockError = e.distances(e.Nth(i).Law, x.Theta)
	}
	return other
}

// Reach is the standard deviation at N = 1 of θ̂ in its least certain direction, the
// largest over the populations.
func (e *Experiment) Reach() float64 {
	var largest float64
	for _, p := range e.Limits {
		largest = math.Max(largest, math.Sqrt(numeric.OperatorNorm(p.Covariance)))
	}
	return largest
}

// WaldOutlier marks replicates that left the neighbourhood where the theory holds. Of fewer than 20 degrees of freedom
// chance gives as much, and the mark is what χ² exceeds with probability 2.5e-4.
const WaldOutlier = 2.5

// KeepNeighbourhood takes the replicates that left the neighbourhood of θ* (Wald/df
// above WaldOutlier) out of the errors, and returns how many left at the largest N,
// those that reached no minimum among them, and which.
func (o *Outcome) KeepNeighbourhood() (where []string) {
	for i, x := range o.Replicates {
		at := o.Nth(i)
		freedom := float64(o.Limits[at.Law].Freedom())
		if x.Wald > math.Max(WaldOutlier*freedom, distuv.ChiSquared{K: freedom}.Quantile(1-2.5e-4)) {
			where = append(where, fmt.Sprintf("%s: Wald/df = %.2g", o.Name(at), x.Wald/freedom))
			o.leave(&o.Replicates[i])
		}
	}
	return append(where, o.Unsettled...)
}

// Trials are samples of several sizes from one law or several, so many of each.
type Trials struct {
	Settings
	What  string // is fitted, where the study fits several things
	Laws  int    // 0: one
	Sizes []int  // N, increasing
	Count int    // of each
	Law   func(x Trial) []float64
	Rand  func(x Trial) *rand.Rand
	// Sampler draws the shares of n rows; nil: Sample.
	Sampler func(law []float64, n int, rng *rand.Rand) []float64
}

// Draws are trials of one law whose random numbers go by a name, their size and their replicate: count of each size,
// unless the settings say how many.
func (s Settings) Draws(weights []float64, sizes []int, count int, name ...uint64) *Trials {
	return &Trials{
		Settings: s, Sizes: sizes, Count: cmp.Or(s.Replicates, count), Law: func(Trial) []float64 { return weights },
		Rand: func(x Trial) *rand.Rand {
			return newRand(s.Seed, slices.Concat(name, []uint64{uint64(x.Size), uint64(x.Replicate)})...)
		},
	}
}

// Trial is one of them.
type Trial struct {
	Law, Size, Replicate int
	N                    int // N
	Rand                 *rand.Rand
}

// Nth is the i-th of them: the laws one after another, of each the sizes, of each the replicates.
func (t *Trials) Nth(i int) Trial {
	size := i / t.Count % len(t.Sizes)
	return Trial{Law: i / (len(t.Sizes) * t.Count), Size: size, Replicate: i % t.Count, N: t.Sizes[size]}
}

// Total is how many there are.
func (t *Trials) Total() int { return max(1, t.Laws) * len(t.Sizes) * t.Count }

// Lost is why a trial has no result.
type Lost struct{ Err error }

func (l Lost) Error() string { return l.Err.Error() }

// Draw is a trial's sample: the share of each entry of the law.
func (t *Trials) Draw(x Trial) []float64 {
	if t.Sampler != nil {
		return t.Sampler(t.Law(x), x.N, x.Rand)
	}
	return Sample(t.Law(x), x.N, x.Rand)
}

// RunTrials gives what do makes of each trial, with a fork of the model, if there is one, on all cores. It
// names the trials that do lost, or whose descent did not settle.
func RunTrials[T any](ctx context.Context, t *Trials, model Model, do func(model Model, x Trial) (T, error)) (results []T, losses []string, err error) {
	if t == nil {
		return nil, nil, nil
	}
	losses = make([]string, t.Total())
	results, err = Each(ctx, t.Total(), model, func(model Model, i int) (T, error) {
		x := t.Nth(i)
		x.Rand = t.Rand(x)
		result, err := do(model, x)
		switch {
		case err == nil:
		case errors.As(err, new(Lost)):
			losses[i] = fmt.Sprintf("%s: %v", t.Name(x), err)
		case errors.As(err, new(*UnsettledError)):
			losses[i] = t.Name(x)
		default:
			return result, fmt.Errorf("theory: %s: %w", t.Name(x), err)
		}
		return result, nil
	})
	return results, slices.DeleteFunc(losses, func(where string) bool { return where == "" }), err
}

// Measure gives a table of each number that do makes of the trials, by size and replicate: of several laws, those of
// one after those of the other. Trials that are lost are NaN in it: they count for nothing.
func (t *Trials) Measure(ctx context.Context, model Model, numbers int, do func(model Model, x Trial) ([]float64, error)) (tables [][][]float64, losses []string, err error) {
	found, losses, err := RunTrials(ctx, t, model, func(model Model, x Trial) (of []float64, err error) {
		if of, err = do(model, x); err != nil {
			of = nil
		}
		return of, err
	})
	tables = make([][][]float64, numbers)
	for n := range tables {
		tables[n] = numeric.Unmeasured(t.Total()/t.Count, t.Count)
		for i, of := range found {
			if of != nil {
				tables[n][i/t.Count][i%t.Count] = of[n]
			}
		}
	}
	return tables, losses, err
}

// Name says which trial it is, with its seed.
func (t *Trials) Name(x Trial) string {
	what := t.What
	if t.Laws > 0 {
		what = fmt.Sprintf("shift %d", x.Law)
	}
	if what != "" {
		what += ", "
	}
	return fmt.Sprintf("seed %d, %sN = %d, replicate %d", t.Seed, what, x.N, x.Replicate)
}

// Slopes are those of the root mean squares of tables on N, log on log, by the bootstrap.
func (t *Trials) Slopes(rng *rand.Rand, tables ...[][]float64) []Estimate {
	return t.SlopesOn(data.Each(t.Sizes, func(N int) float64 { return math.Log(float64(N)) }), rng, tables...)
}

// SlopesOn are those on a number x of each size.
func (t *Trials) SlopesOn(x []float64, rng *rand.Rand, tables ...[][]float64) []Estimate {
	return Bootstrap(len(t.Sizes), t.Count, rng, func(pick [][]int) []float64 {
		return data.Each(tables, func(values [][]float64) float64 {
			y := data.Each(data.UpTo(len(x)), func(size int) float64 { return math.Log(numeric.RMS(values[size], pick[size])) })
			return numeric.Line(x, y)
		})
	})
}

// Each gives what of(model, i) does for i = 0 … n−1, done on all cores. Each goroutine has a fork of
// the model, if there is one, whose scratch memory it may use; the work of index i must depend on i
// alone, so that the results do not depend on the number of cores.
func Each[T any](ctx context.Context, n int, model Model, of func(model Model, i int) (T, error)) ([]T, error) {
	if n < 1 {
		return nil, nil
	}
	results := make([]T, n)
	ctx = work.Span(ctx, "", 0, 0) // how many times a study does this is not known
	return results, work.Parts{N: n}.With(ctx, func() func(context.Context, int) error {
		own := model
		if model != nil {
			own = model.Fork()
		}
		return func(_ context.Context, i int) (err error) {
			results[i], err = of(own, i)
			return err
		}
	})
}

// PopulationGradient is the largest ‖∇L(θ*)‖ over the populations: zero when θ* is
// where the loss that is trained has its optimum.
func (e *Experiment) PopulationGradient() (float64, error) {
	largest, at := 0.0, &Loss{Model: e.Model}
	for _, p := range e.Limits {
		at.Weights = p.Weights
		_, grad := at.Gradient(p.Theta)
		largest = math.Max(largest, floats.Norm(grad, 2))
	}
	return largest, at.Err
}

// certainRate is the standard deviation of θ̂ in its least certain direction at the smallest
// N that is chosen where none is given.
const certainRate = 0.05

// mostRows keeps counts exact in float64.
const mostRows = 1e14

// CertainSizes are four N over a factor of 30, large enough for first-order theory where θ̂·√N
// reaches so far from θ*.
func CertainSizes(reach float64) (sizes []int, err error) {
	least := math.Max(1e5, numeric.Square(reach/certainRate))
	if least > mostRows {
		return nil, fmt.Errorf("theory: N = %.1g would be needed for errors small enough for first-order theory: this θ* is almost not identified; take another seed, a larger Spread (1), more atoms or fewer codewords", least)
	}
	return data.Each([]float64{1, 3, 10, 30}, func(factor float64) int { return int(factor * least) }), nil
}

package theory

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// trials are samples of several sizes from one law or several, so many of each.
type trials struct {
	*setup
	what  string // is fitted, where the study fits several things
	laws  int    // 0: one
	sizes []int  // N, increasing
	count int    // of each
	law   func(x trial) []float64
	rand  func(x trial) *rand.Rand
}

// draws are trials of one law whose random numbers go by a name, their size and their replicate.
func (s *setup) draws(weights []float64, sizes []int, count int, name ...uint64) *trials {
	return &trials{
		setup: s, sizes: sizes, count: count, law: func(trial) []float64 { return weights },
		rand: func(x trial) *rand.Rand {
			return newRand(s.Seed, slices.Concat(name, []uint64{uint64(x.size), uint64(x.rep)})...)
		},
	}
}

// trial is one of them.
type trial struct {
	law, size, rep int
	rows           int // N
	rng            *rand.Rand
}

// total is how many there are.
func (t *trials) total() int { return max(1, t.laws) * len(t.sizes) * t.count }

// lost is why a trial has no result.
type lost struct{ error }

// draw is a trial's sample: the share of each entry of the law.
func (t *trials) draw(x trial) []float64 { return t.sample(t.law(x), x.rows, x.rng) }

// run hands each trial to do, with a model of its own, on all cores. It names those that
// do lost, or whose descent did not settle, and leaves "" for the others.
func (t *trials) run(ctx context.Context, model Model, do func(model Model, x trial) error) (losses []string, err error) {
	return runTrials(ctx, t, model.fork, do)
}

// each is run where no model is fitted.
func (t *trials) each(ctx context.Context, do func(x trial) error) (losses []string, err error) {
	return runTrials(ctx, t, func() (int, error) { return 0, nil }, func(_ int, x trial) error { return do(x) })
}

// runTrials is run with workers of any kind.
func runTrials[W any](ctx context.Context, t *trials, newWorker func() (W, error), do func(worker W, x trial) error) (losses []string, err error) {
	losses = make([]string, t.total())
	err = forEach(ctx, t.total(), newWorker, func(worker W, i int) error {
		x := trial{law: i / (len(t.sizes) * t.count), size: i / t.count % len(t.sizes), rep: i % t.count}
		x.rows, x.rng = t.sizes[x.size], t.rand(x)
		err := do(worker, x)
		switch {
		case err == nil:
		case errors.As(err, new(lost)):
			losses[i] = fmt.Sprintf("%s: %v", t.name(x), err)
		case errors.As(err, new(*UnsettledError)):
			losses[i] = t.name(x)
		default:
			return fmt.Errorf("theory: %s: %w", t.name(x), err)
		}
		return nil
	})
	return losses, err
}

// name says which trial it is.
func (t *trials) name(x trial) string {
	what := t.what
	if t.laws > 0 {
		what = fmt.Sprintf("shift %d", x.law)
	}
	if what != "" {
		what += ", "
	}
	return fmt.Sprintf("seed %d, %sN = %d, replicate %d", t.Seed, what, x.rows, x.rep)
}

// table is a number for each size and replicate, NaN until a trial gives it: those that are lost
// count for nothing.
func (t *trials) table() [][]float64 { return unmeasured(len(t.sizes), t.count) }

// unmeasured is a grid of NaN.
func unmeasured(n, m int) [][]float64 {
	values := grid(n, m)
	for _, of := range values {
		for i := range of {
			of[i] = math.NaN()
		}
	}
	return values
}

// slopes are those of the root mean squares of tables on N, log on log, by the bootstrap.
func (t *trials) slopes(rng *rand.Rand, tables ...[][]float64) []Estimate {
	return bootstrap(len(t.sizes), t.count, rng, func(pick [][]int) []float64 {
		slopes := make([]float64, len(tables))
		for i, values := range tables {
			var x, y []float64
			for size, N := range t.sizes {
				x = append(x, math.Log(float64(N)))
				y = append(y, math.Log(rms(values[size], pick[size])))
			}
			slopes[i] = slope(x, y, make([]int, len(x)))
		}
		return slopes
	})
}

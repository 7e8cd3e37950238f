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

// runTrials gives what do makes of each trial, with a fork of the model, if there is one, on all cores. It
// names the trials that do lost, or whose descent did not settle.
func runTrials[T any](ctx context.Context, t *trials, model Model, do func(model Model, x trial) (T, error)) (results []T, losses []string, err error) {
	losses = make([]string, t.total())
	results, err = each(ctx, t.total(), model, func(model Model, i int) (T, error) {
		x := trial{law: i / (len(t.sizes) * t.count), size: i / t.count % len(t.sizes), rep: i % t.count}
		x.rows, x.rng = t.sizes[x.size], t.rand(x)
		result, err := do(model, x)
		switch {
		case err == nil:
		case errors.As(err, new(lost)):
			losses[i] = fmt.Sprintf("%s: %v", t.name(x), err)
		case errors.As(err, new(*UnsettledError)):
			losses[i] = t.name(x)
		default:
			return result, fmt.Errorf("theory: %s: %w", t.name(x), err)
		}
		return result, nil
	})
	return results, slices.DeleteFunc(losses, func(where string) bool { return where == "" }), err
}

// measure gives a table of each number that do makes of the trials of one law, by size and replicate. Trials
// that are lost are NaN in it: they count for nothing.
func (t *trials) measure(ctx context.Context, model Model, numbers int, do func(model Model, x trial) ([]float64, error)) (tables [][][]float64, losses []string, err error) {
	found, losses, err := runTrials(ctx, t, model, func(model Model, x trial) ([]float64, error) {
		of, err := do(model, x)
		if err != nil {
			return nil, err
		}
		return of, nil
	})
	tables = make([][][]float64, numbers)
	for n := range tables {
		tables[n] = unmeasured(len(t.sizes), t.count)
		for i, of := range found {
			if of != nil {
				tables[n][i/t.count][i%t.count] = of[n]
			}
		}
	}
	return tables, losses, err
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

// unmeasured is a grid of NaN.
func unmeasured(n, m int) [][]float64 {
	values := make([][]float64, n)
	for i := range values {
		values[i] = slices.Repeat([]float64{math.NaN()}, m)
	}
	return values
}

// slopes are those of the root mean squares of tables on N, log on log, by the bootstrap.
func (t *trials) slopes(rng *rand.Rand, tables ...[][]float64) []Estimate {
	var logN []float64
	for _, N := range t.sizes {
		logN = append(logN, math.Log(float64(N)))
	}
	return t.slopesOn(logN, rng, tables...)
}

// slopesOn are those on a number x of each size.
func (t *trials) slopesOn(x []float64, rng *rand.Rand, tables ...[][]float64) []Estimate {
	return bootstrap(len(t.sizes), t.count, rng, func(pick [][]int) []float64 {
		slopes := make([]float64, len(tables))
		for i, values := range tables {
			var y []float64
			for size := range t.sizes {
				y = append(y, math.Log(rms(values[size], pick[size])))
			}
			slopes[i] = line(x, y)
		}
		return slopes
	})
}

package baselines

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/op"
	"calibra/layers"
	"calibra/optim"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// DirichletODIR is Dirichlet calibration with off-diagonal and intercept
// regularization (Kull et al. 2019, section 3.3):
//
//	mean NLL + λ/(C(C−1)) Σ_{k≠l} W_kl² + μ/C Σ_k b_k²
//
// λ and μ have the least cross-validated loss on a grid, ties going to the larger.
// The fits are in the whitened terms of [Dirichlet], with the penalties on W and b, by
// optim.Newton with the curvature of each class by itself as its preconditioner: L-BFGS
// takes hundreds of iterations where C² weights are penalized little.
type DirichletODIR struct {
	Grid  []float64 // values of λ and of μ; nil: 10, 1, …, 1e-3
	Folds int       // of the cross-validation; 0: 3
	Optim optim.NewtonSettings

	Lambda, Mu float64 // as the last Fit chose them

	Fitted
}

var _ layers.Stateful = (*DirichletODIR)(nil)

// Fit draws the folds, stratified, from rng; there is nothing to stop early. Interrupted
// before λ and μ are chosen it keeps nothing.
func (m *DirichletODIR) Fit(ctx context.Context, cal, _ *data.Set, rng *rand.Rand) error {
	return wrap("Dirichlet calibration", m.fitChosen(ctx, cal, rng))
}

func (m *DirichletODIR) fitChosen(ctx context.Context, cal *data.Set, rng *rand.Rand) error {
	grid, folds := m.Grid, m.Folds
	if grid == nil {
		grid = []float64{10, 1, 1e-1, 1e-2, 1e-3}
	}
	if folds == 0 {
		folds = 3
	}
	sizes, err := sizesOf(cal)
	if err != nil {
		return err
	}
	l, err := logProbsOf(cal, sizes)
	if err != nil {
		return err
	}
	if folds < 2 || folds > cal.Len() {
		return &layers.SettingError{Reason: fmt.Sprintf("%d folds of %d rows; choose from 2 to the number of rows", folds, cal.Len())}
	}
	fractions := make([]float64, folds)
	for i := range fractions {
		fractions[i] = 1 / float64(folds)
	}
	l = floored(l)
	parts := data.Stratify(cal.Labels, fractions, rng)
	losses := make([]float64, len(grid)*len(grid))
	for held, test := range parts {
		var rest []int
		for p, rows := range parts {
			if p != held {
				rest = append(rest, rows...)
			}
		}
		if err := m.path(ctx, l, cal.Labels, rest, test, grid, losses); err != nil {
			return err
		}
	}
	best := 0
	for i, l := range losses {
		if l < losses[best] {
			best = i
		}
	}
	m.Lambda, m.Mu = grid[best/len(grid)], grid[best%len(grid)]
	white, w, err := whitenedStart(cal)
	if err != nil {
		return err
	}
	return m.fitWhitened(ctx, odirMap{whitenedMap{whitening: white}, m.Lambda, m.Mu}, white, cal, w, func(ctx context.Context, p optim.Problem) (optim.Result, error) {
		white.apply(l)
		f := newPenalized(white, l, cal.Labels)
		weights := p.Loss.Weights()
		x := startOf(weights)
		r, err := f.minimize(ctx, x, m.Lambda, m.Mu, m.Optim)
		weights.SetValues("dirichlet/weight", x[:len(x)-sizes.Classes])
		weights.SetValues("dirichlet/bias", x[len(x)-sizes.Classes:])
		return r, err
	})
}

// startOf is W̃ and b̃, laid end to end.
func startOf(w *graph.Weights) []float64 {
	return slices.Concat(w.Float64s("dirichlet/weight"), w.Float64s("dirichlet/bias"))
}

// minimize finds the least loss under λ and μ from x, in place.
func (f *penalized) minimize(ctx context.Context, x []float64, lambda, mu float64, s optim.NewtonSettings) (optim.Result, error) {
	f.temper(x)
	f.lambda, f.mu = lambda, mu
	if err := f.Renew(); err != nil {
		return optim.Result{}, err
	}
	return optim.Newton(ctx, f, x, s)
}

// pathSteps are those of one fit of a cross-validation at most. Where classes can be told
// apart with certainty a loss goes on falling by next to nothing.
const pathSteps = 20

// path adds to losses the summed loss on the test rows of each fit to the train rows of
// l = ℓ, N×C. Each fit starts from the one before it, a neighbour on the grid.
func (m *DirichletODIR) path(ctx context.Context, l *mat.Dense, labels, train, test []int, grid, losses []float64) error {
	x := data.RowsOf(l, train)
	white, err := whiten(x)
	if err != nil {
		return err
	}
	white.apply(x)
	held := data.RowsOf(l, test)
	white.apply(held)
	f, on := newPenalized(white, x, pick(labels, train)), newPenalized(white, held, pick(labels, test))
	c := len(white.mean)
	start := graph.NewWeights(tensor.Float64)
	start.Add("dirichlet/weight", identity(c), c, c)
	start.Add("dirichlet/bias", make([]float64, c), c)
	at, slope := startOf(white.start(start)), make([]float64, c*c+c)
	settings := m.Optim
	if settings.Gradient == 0 {
		settings.Gradient = 1e-4 // enough to choose by
	}
	settings.Iterations = min(cmp.Or(settings.Iterations, pathSteps), pathSteps)
	f.temper(at)
	for i, lambda := range grid {
		f.Gradient(slope, at)
		f.measure()
		for step := range grid {
			j := step // there and back, so that each fit is next to the last
			if i%2 == 1 {
				j = len(grid) - 1 - step
			}
			if err := f.penalty(lambda, grid[j]); err != nil {
				return err
			}
			if _, err := optim.Newton(ctx, f, at, settings); err != nil {
				return err
			}
			loss := float64(len(test)) * on.Gradient(slope, at)
			if losses[i*len(grid)+j] += loss; math.IsNaN(loss) {
				return fmt.Errorf("the cross-validated loss at λ = %g, μ = %g is not finite", lambda, grid[j])
			}
		}
	}
	return nil
}

// pick is the values at the given indices.
func pick(values, index []int) []int {
	out := make([]int, len(index))
	for i, at := range index {
		out[i] = values[at]
	}
	return out
}

// Restore sets them.
func (m *DirichletODIR) Restore(s layers.State) error { return m.restore(dirichletMap{}, s) }

// odirMap is whitenedMap with penalties.
type odirMap struct {
	whitenedMap
	lambda, mu float64
}

func (m odirMap) Loss(b *graph.Builder, in layers.Batch, _ int) *gorgonia.Node {
	nll := b.NLL(m.LogProbs(b, in), in.Labels(b))
	c := len(m.mean)
	weight := b.MatMul(b.Table("whitening", graph.Matrix(tensor.Float64, m.forward)), b.Weight("dirichlet/weight")) // W = RW̃
	shift := b.MatMul(b.Table("mean", graph.Tensor(tensor.Float64, m.mean, 1, c)), weight)                          // mW, 1×C
	bias := b.AddRow(b.Apply(op.Scale(2, -1), shift), b.Weight("dirichlet/bias"))                                   // b = b̃ − mW
	off := identity(c)                                                                                              // 1 off the diagonal, 0 on it
	for i := range off {
		off[i] = 1 - off[i]
	}
	masked := b.Times(weight, b.Table("off_diagonal", graph.Tensor(tensor.Float64, off, c, c)))
	square := func(x *gorgonia.Node, by float64) *gorgonia.Node {
		return b.Apply(op.Scale(0, by), b.Apply(op.Sum(2), b.Times(x, x)))
	}
	loss := b.Plus(nll, square(masked, m.lambda/float64(c*(c-1))))
	return b.Plus(loss, square(bias, m.mu/float64(c)))
}

package baselines

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/op"
	"calibra/layers"
	"calibra/optim"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// DirichletODIR is Dirichlet calibration with off-diagonal and intercept
// regularization (Kull et al. 2019, section 3.3):
//
//	mean NLL + λ/(C(C−1)) Σ_{k≠l} W_kl² + μ/C Σ_k b_k²
//
// λ and μ have the least cross-validated loss on a grid, ties going to the larger.
// The fits are in the whitened terms of [Dirichlet], with the penalties on W and b.
type DirichletODIR struct {
	Grid  []float64 // values of λ and of μ; nil: 10, 1, …, 1e-3
	Folds int       // of the cross-validation; 0: 3
	Optim optim.LBFGSSettings

	Lambda, Mu float64 // as the last Fit chose them

	Fitted
}

var _ layers.Stateful = (*DirichletODIR)(nil)

// Fit draws the folds, stratified, from rng; there is nothing to stop early. Interrupted
// before λ and μ are chosen it keeps nothing.
func (m *DirichletODIR) Fit(ctx context.Context, cal, _ *data.Set, rng *rand.Rand) error {
	grid, folds := m.Grid, m.Folds
	if grid == nil {
		grid = []float64{10, 1, 1e-1, 1e-2, 1e-3}
	}
	folds = cmp.Or(folds, 3)
	white, w, err := whitenedStart(cal)
	if err != nil {
		return wrap("Dirichlet calibration", err)
	}
	if folds < 2 || folds > cal.Len() {
		return &layers.SettingError{Reason: fmt.Sprintf("%d folds of %d rows; choose from 2 to the number of rows", folds, cal.Len())}
	}
	fractions := make([]float64, folds)
	for i := range fractions {
		fractions[i] = 1 / float64(folds)
	}
	parts := data.Stratify(cal.Labels, fractions, rng)
	losses := make([]float64, len(grid)*len(grid))
	for held, test := range parts {
		var rest []int
		for p, rows := range parts {
			if p != held {
				rest = append(rest, rows...)
			}
		}
		if err := m.path(ctx, cal.Rows(rest), cal.Rows(test), grid, losses); err != nil {
			return wrap("Dirichlet calibration", err)
		}
	}
	best := 0
	for i, l := range losses {
		if l < losses[best] {
			best = i
		}
	}
	m.Lambda, m.Mu = grid[best/len(grid)], grid[best%len(grid)]
	err = m.fitWhitened(ctx, odirMap{whitenedMap{whitening: white}, m.Lambda, m.Mu}, white, cal, w, lbfgs(m.Optim))
	return wrap("Dirichlet calibration", err)
}

// path adds to losses the summed loss on test of each fit to train. Each fit starts
// from the one before it.
func (m *DirichletODIR) path(ctx context.Context, train, test *data.Set, grid, losses []float64) error {
	white, w, err := whitenedStart(train)
	if err != nil {
		return err
	}
	var f Fitted
	for i, lambda := range grid {
		for j, mu := range grid {
			settings := m.Optim
			if settings.Gradient == 0 {
				settings.Gradient = 1e-4 // enough to choose by
			}
			if err := f.fit(ctx, odirMap{whitenedMap{whitening: white}, lambda, mu}, train, w, lbfgs(settings)); err != nil {
				return err
			}
			w = f.Weights()
			p, err := f.Predict(test)
			if err != nil {
				return err
			}
			for r, y := range test.Labels {
				losses[i*len(grid)+j] -= p.LogProbs.At(r, y)
			}
			if math.IsNaN(losses[i*len(grid)+j]) {
				return fmt.Errorf("the cross-validated loss at λ = %g, μ = %g is not finite", lambda, mu)
			}
		}
	}
	return nil
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

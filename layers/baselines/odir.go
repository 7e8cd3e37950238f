package baselines

import (
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
type DirichletODIR struct {
	Grid   []float64 // values of λ and of μ; nil: 1e-4, 1e-3, …, 1
	Folds  int       // of the cross-validation; 0: 3
	Optim  optim.LBFGSSettings
	Result optim.Result // of the last Fit, on all rows

	Lambda, Mu float64 // as the last Fit chose them

	fitted
}

var _ layers.Stateful = (*DirichletODIR)(nil)

// Fit draws the folds, stratified, from rng; there is nothing to stop early.
func (m *DirichletODIR) Fit(ctx context.Context, cal, _ *data.Set, rng *rand.Rand) error {
	grid, folds := m.Grid, m.Folds
	if grid == nil {
		grid = []float64{1, 1e-1, 1e-2, 1e-3, 1e-4}
	}
	if folds == 0 {
		folds = 3
	}
	if _, err := sizesOf(cal); err != nil {
		return err
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
	var err error
	m.Result, err = m.fit(ctx, odirMap{lambda: m.Lambda, mu: m.Mu}, cal, nil, lbfgs(m.Optim))
	return wrap("Dirichlet calibration", err)
}

// path adds to losses the summed loss on test of each fit to train. Each fit starts
// from the one before it.
func (m *DirichletODIR) path(ctx context.Context, train, test *data.Set, grid, losses []float64) error {
	var f fitted
	for i, lambda := range grid {
		for j, mu := range grid {
			settings := m.Optim
			if settings.Gradient == 0 {
				settings.Gradient = 1e-5 // enough to choose by
			}
			if _, err := f.fit(ctx, odirMap{lambda: lambda, mu: mu}, train, f.w, lbfgs(settings)); err != nil {
				return err
			}
			p, err := f.predict(odirMap{}, test)
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

// Predict is log softmax(ℓ W + b).
func (m *DirichletODIR) Predict(x *data.Set) (*data.Predictions, error) {
	return m.predict(odirMap{}, x)
}

// State is W and b.
func (m *DirichletODIR) State() (layers.State, error) { return m.state() }

// Restore sets them.
func (m *DirichletODIR) Restore(s layers.State) error { return m.restore(odirMap{}, s) }

// odirMap is dirichletMap with penalties.
type odirMap struct {
	dirichletMap
	lambda, mu float64
}

func (m odirMap) loss(b *graph.Builder, scores, labels *gorgonia.Node, n int) *gorgonia.Node {
	loss := m.dirichletMap.loss(b, scores, labels, n)
	w := b.Weight("dirichlet/weight")
	if b.Err() != nil {
		return nil
	}
	c := w.Shape()[0]
	off := identity(c) // 1 off the diagonal, 0 on it
	for i := range off {
		off[i] = 1 - off[i]
	}
	masked := b.Times(w, b.Table("off_diagonal", graph.Tensor(tensor.Float64, off, c, c)))
	square := b.Apply(op.Sum(2), b.Times(masked, masked))
	loss = b.Plus(loss, b.Apply(op.Scale(0, m.lambda/float64(c*(c-1))), square))
	return b.Plus(loss, penalty(b, "dirichlet/bias", m.mu/float64(c)))
}

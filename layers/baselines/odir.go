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

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// DirichletODIR is Dirichlet calibration with off-diagonal and intercept
// regularization (Kull et al. 2019, section 3.3):
//
//	mean NLL + λ/(C(C−1)) Σ_{k≠l} W_kl² + μ/C Σ_k b_k²
//
// λ and μ have the least cross-validated loss on a grid, ties going to the larger. Where N·C² > 2³², as of 4,295 rows
// of 1,000 classes, a stratified part of the rows chooses them, in its first fold alone, under λN/n and μN/n of its n
// rows, from the largest λ down for as long as the best μ of a λ loses less than that of the λ before. The fits are in
// the whitened terms of [Dirichlet], along the principal axes, with the penalties on W and b, by optim.Newton with a
// diagonal and three vectors of each class as its preconditioner: L-BFGS takes hundreds of iterations where C² weights
// are penalized little.
type DirichletODIR struct {
	Grid  []float64 // values of λ and of μ; nil: 10, 1, …, 1e-3
	Folds int       // of the cross-validation; 0: 3
	Optim optim.Newton

	Lambda, Mu float64 // as the last Fit chose them

	Fitted
}

var _ layers.Stateful = (*DirichletODIR)(nil)

// Fit draws the folds, stratified, from rng; there is nothing to stop early. Interrupted
// before λ and μ are chosen it keeps nothing.
func (m *DirichletODIR) Fit(ctx context.Context, cal, _ *data.Set, rng *rand.Rand) error {
	return wrap("Dirichlet calibration", m.fitChosen(ctx, cal, rng))
}

// choices are the values of λ and of μ, and the folds by which they are chosen.
func (m *DirichletODIR) choices() (grid []float64, folds int) {
	if grid = m.Grid; grid == nil {
		grid = []float64{10, 1, 1e-1, 1e-2, 1e-3}
	}
	return grid, cmp.Or(m.Folds, 3)
}

func (m *DirichletODIR) fitChosen(ctx context.Context, cal *data.Set, rng *rand.Rand) error {
	_, l, err := logProbsToFit(cal)
	if err != nil {
		return err
	}
	_, folds := m.choices()
	if err := layers.CheckFolds(folds, cal.Len()); err != nil {
		return err
	}
	l = floored(l)
	white, err := whiten(l)
	if err != nil {
		return err
	}
	white = white.principal()
	near, err := m.choose(ctx, l, cal, white, rng)
	if err != nil {
		return err
	}
	start := white.start()
	x := startOf(start)
	copy(x, near)
	white.apply(l)
	f := newPenalized(white, l, aimsOf(cal))
	f.begin(x, m.Lambda, m.Mu)
	weights := len(x) - len(white.mean)
	start.SetValues("dirichlet/weight", x[:weights])
	start.SetValues("dirichlet/bias", x[weights:])
	of := odirMap{whitenedMap{whitening: white}, m.Lambda, m.Mu}
	return m.fitWhitened(ctx, of, white, start, cal, curved{f, m.Optim}, rng)
}

// chosenBy is up to what N·C² all rows choose λ and μ, in all folds, among all pairs: of 1,000
// classes 4,294 rows choose, of 100 classes 429,496.
const chosenBy = 1 << 32

// choose finds λ and μ by cross-validation over the rows of l. Of too many rows those of a
// stratified part choose, n of N, and in its first fold alone. It is fitted under λN/n and
// μN/n, by which the penalties weigh as much against a row as they will against all rows. It
// goes down λ until that no longer pays: the fits under weak penalties, which fewer rows can
// bear, take longest. near is then the best of its fits, which the fit to all rows starts from.
func (m *DirichletODIR) choose(ctx context.Context, l *mat.Dense, cal *data.Set, white whitening, rng *rand.Rand) (near []float64, err error) {
	grid, folds := m.choices()
	n, c := l.Dims()
	strengths := slices.Clone(grid)
	most := max(chosenBy/(c*c), folds*c)
	if most < n {
		rows, all := layers.FewRows(cal.Labels, most, rng), cal.Effective()
		l, cal = data.RowsOf(l, rows), cal.Rows(rows)
		floats.Scale(all/cal.Effective(), strengths)
	}
	p := &path{l: l, aims: aimsOf(cal), white: white, strengths: strengths, settings: m.Optim, part: most < n, losses: make([]float64, len(grid)*len(grid))}
	for _, fold := range layers.Folds(cal, folds, rng) {
		if err := p.follow(ctx, fold.Fit, fold.Held); err != nil {
			return nil, err
		}
		if p.part {
			near = p.near
			break
		}
	}
	best := floats.MinIdx(p.losses)
	m.Lambda, m.Mu = grid[best/len(grid)], grid[best%len(grid)]
	return near, nil
}

// startOf is W̃ and b̃, laid end to end.
func startOf(w *graph.Weights) []float64 {
	return slices.Concat(w.Float64s("dirichlet/weight"), w.Float64s("dirichlet/bias"))
}

// begin makes x where the loss under λ and μ is minimized from.
func (f *penalized) begin(x []float64, lambda, mu float64) {
	f.temper(x)
	f.measure()
	f.penalty(lambda, mu)
}

// pathSteps are those of one fit of a cross-validation at most. Where classes can be told
// apart with certainty a loss goes on falling by next to nothing.
const pathSteps = 20

// path is a cross-validation of all pairs of strengths.
type path struct {
	l         *mat.Dense // ℓ, N×C
	aims      *data.Set  // labels and weights
	white     whitening  // in whose terms the fits are
	strengths []float64  // of λ and of μ
	settings  optim.Newton
	part      bool // of the rows, so that λ goes no further down than pays

	losses []float64 // summed over the test rows, of each λ in turn with each μ
	near   []float64 // the fit of the least of them
}

// follow adds to losses what each fit to the train rows loses on the test rows. Each fit
// starts from the one before it, a neighbour on the grid.
func (p *path) follow(ctx context.Context, train, test []int) error {
	f, on, at := p.begin(train, test)
	gradient, settings := make([]float64, len(at)), p.settings
	settings.Gradient = cmp.Or(settings.Gradient, 1e-4) // enough to choose by
	settings.Iterations = min(cmp.Or(settings.Iterations, pathSteps), pathSteps)
	f.temper(at)
	least := math.Inf(1)
	for i, lambda := range p.strengths {
		f.Gradient(gradient, at)
		f.measure()
		for step := range p.strengths {
			j := step // there and back, so that each fit is next to the last
			if i%2 == 1 {
				j = len(p.strengths) - 1 - step
			}
			f.penalty(lambda, p.strengths[j])
			if _, err := settings.Descend(ctx, f, at); err != nil {
				return err
			}
			loss := on.total * on.Gradient(gradient, at)
			total := &p.losses[i*len(p.strengths)+j]
			if *total += loss; math.IsNaN(loss) {
				return fmt.Errorf("the cross-validated loss at λ = %g, μ = %g is not finite", lambda, p.strengths[j])
			}
			if *total < least {
				least, p.near = *total, append(p.near[:0], at...)
			}
		}
		if p.part && i > 0 && p.best(i) > p.best(i-1) {
			for k := (i + 1) * len(p.strengths); k < len(p.losses); k++ {
				p.losses[k] = math.Inf(1)
			}
			return nil
		}
	}
	return nil
}

// begin is the losses on the train rows and on the test rows, and where fits start: at the identity.
func (p *path) begin(train, test []int) (f, on *penalized, at []float64) {
	x, held := data.RowsOf(p.l, train), data.RowsOf(p.l, test)
	p.white.apply(x)
	p.white.apply(held)
	return newPenalized(p.white, x, p.aims.Rows(train)), newPenalized(p.white, held, p.aims.Rows(test)), startOf(p.white.start())
}

// best is the least loss of all μ under the i-th λ.
func (p *path) best(i int) float64 {
	return slices.Min(p.losses[i*len(p.strengths) : (i+1)*len(p.strengths)])
}

func (m *DirichletODIR) Restore(s layers.State) error { return m.restore(dirichletMap{}, s) }

// odirMap is whitenedMap with penalties.
type odirMap struct {
	whitenedMap
	lambda, mu float64
}

func (m odirMap) Loss(b *graph.Builder, in layers.Batch, _ int) *gorgonia.Node {
	nll := layers.NLL(b, m, in)
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

package studies

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"calibra/data"
	"calibra/optim/estimate"
	"calibra/theory"
	"calibra/theory/internal/numeric"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// leastInformation is the n_V·λ from which a cell's own map is compared with its
// first-order theory, λ being the smallest curvature of the cell's loss that is not
// zero: θ̂ then has a standard deviation of at most 0.1 in every direction, and what
// the theory leaves out of 2 n_V·KL is of order 1/(n_V·λ). The count alone does not decide:
// atoms of a cell may be so alike that λ is 1e-9, and the maximum of the likelihood then
// lies at infinity for most samples of any n_V in reach, with a KL that has no bound.
const leastInformation = 100

// leastRows is the fewest rows a cell's own map is fitted to.
const leastRows = 20

// rareRows bounds the cells in which sharing is compared: 50 to 300 rows.
var rareRows = theory.Band{Low: 50, High: 300}

func runUnshared(ctx context.Context, s theory.Settings, r *theory.Report) error {
	p := newProblem(s, designOf(s), s.RNG(16))
	cellProb := p.law(0)
	effective := effectiveCount(p.Table, p.Table.Occupancy(cellProb))
	c := &comparison{problem: p, cellProb: cellProb, population: p.Weights(cellProb), effective: effective}
	if err := c.compareSlopes(ctx, r); err != nil {
		return err
	}
	return c.compareRare(ctx, r)
}

// compareSlopes measures how both errors go with the rows of a cell. That needs cells of every size, each
// with rows enough for its own map.
func (c *comparison) compareSlopes(ctx context.Context, r *theory.Report) error {
	const large = 1e9
	curvature, err := c.curvatures()
	if err != nil {
		return err
	}
	c.count = replicates(c.Settings, 30, 40)
	enough := c.cellsWith(func(v int) bool { return large*c.cellProb[v]*curvature[v] >= leastInformation })
	unshared, shared, lost, err := c.run(ctx, large, enough)
	if err != nil {
		return err
	}
	e := theory.Bootstrap(1, c.count, c.RNG(17), func(pick [][]int) []float64 {
		uRows, uEff := c.slopes(unshared, enough, large, pick[0])
		sRows, sEff := c.slopes(shared, enough, large, pick[0])
		return []float64{uRows, uEff, c.perRow(unshared, enough, large, pick[0]), sRows, sEff}
	})
	C := float64(c.Design.Classes)
	r.Record("cells", fmt.Sprintf("cells of %d with n_V·λ ≥ %d at N = 1e9", len(c.Table.Cells), leastInformation), theory.Exact(float64(len(enough))), "those that first-order theory describes")
	r.Unsettled(lost, c.count*(1+len(enough)), theory.LostPart)
	r.Near("slope-rows", "unshared: slope of KL on log n_V", e[0], -1, 0.02, "−1: only the cell's own rows count")
	r.Near("slope-effective", "unshared: slope of KL on log N_eff", e[1], 0, 0.04, "0")
	r.Ratio("kl-per-row", "unshared: 2 n_V·KL, mean", e[2], C*C-1, (C*C-1)*0.02, fmt.Sprintf("C² − 1 = %g", C*C-1))
	r.Record("shared-slope-rows", "shared, same cells: slope of KL on log n_V", e[3], "near 0: not the cell's rows alone")
	r.Record("shared-slope-effective", "shared, same cells: slope of KL on log N_eff", e[4], "toward -1: the codewords' rows count")
	return nil
}

// compareRare measures how much smaller the error of shared factors is in cells of few rows.
func (c *comparison) compareRare(ctx context.Context, r *theory.Report) error {
	const medium = 1e6
	c.count = replicates(c.Settings, 12, 40)
	some := c.cellsWith(func(v int) bool { return medium*c.cellProb[v] >= leastRows })
	unshared, shared, _, err := c.run(ctx, medium, some)
	if err != nil {
		return err
	}
	rare := c.cellsWith(func(v int) bool { n := medium * c.cellProb[v]; return n >= rareRows.Low && n <= rareRows.High })
	e := theory.Bootstrap(1, c.count, c.RNG(18), func(pick [][]int) []float64 {
		var ratios []float64
		for _, v := range rare {
			for _, rep := range pick[0] {
				if unshared[v][rep] > 0 {
					ratios = append(ratios, unshared[v][rep]/shared[v][rep])
				}
			}
		}
		return []float64{median(ratios), math.Log10(median(ratios))}
	})
	r.Record("gain", fmt.Sprintf("KL unshared / shared at N = 1e6 in cells of %g–%g rows, median", rareRows.Low, rareRows.High), e[0], "≫ 1")
	r.Above("gain-decades", "… its decades", e[1], 1.5, "≥ 1.5: over thirty times smaller")
	r.Figures = append(r.Figures, c.figure(unshared, shared, some, medium))
	return nil
}

// effectiveCount returns, per row of data, the harmonic mean of the occurrences of a
// cell's codewords: N_eff = w / Σ_i 1/N_{s(i)}.
func effectiveCount(t *theory.Table, occupancy []float64) []float64 {
	effective := make([]float64, len(t.Cells))
	for v, cell := range t.Cells {
		var inverse float64
		for _, k := range cell.Codes {
			inverse += 1 / occupancy[k]
		}
		effective[v] = float64(len(cell.Codes)) / inverse
	}
	return effective
}

// comparison fits the same samples twice: one free C×C map per cell, and the factors
// shared by all cells.
type comparison struct {
	*problem
	cellProb   []float64
	population []float64
	effective  []float64 // N_eff/N per cell
	count      int       // of replicates
}

// ofCell is the model of cell v's own map.
func (c *comparison) ofCell(v int) theory.Model {
	return c.Table.CellByHand(v, c.Design.Identity)
}

// within is P(atom, label | cell v).
func (c *comparison) within(weights []float64, v int) []float64 {
	own := slices.Clone(c.Table.Of(weights, v))
	floats.Scale(1/floats.Sum(own), own)
	return own
}

// curvatures returns the smallest curvature of each cell's own loss at the truth, but for
// the shift of the scores, which no prediction sees.
func (c *comparison) curvatures() ([]float64, error) {
	curvature := make([]float64, len(c.cellProb))
	var at theory.Loss
	for v := range curvature {
		at.Model, at.Weights = c.ofCell(v), c.within(c.population, v)
		values, _ := estimate.Spectrum(at.Hessian(c.Table.Link(v, c.Theta)))
		curvature[v] = values[1]
	}
	return curvature, at.Err
}

// run returns KL(true ‖ fitted) of the given cells and every replicate, unshared and shared,
// and the fits that reached no minimum. A cell with fewer than leastRows rows has unshared
// KL −1: it is not fitted.
func (c *comparison) run(ctx context.Context, N int, cells []int) (unshared, shared [][]float64, lost []string, err error) {
	t := c.Table
	unshared, shared = numeric.Unmeasured(len(t.Cells), c.count), numeric.Unmeasured(len(t.Cells), c.count)
	samples := c.Draws(c.population, []int{N}, c.count)
	samples.Rand = func(x theory.Trial) *rand.Rand { return c.RNG(19, uint64(N), uint64(x.Replicate)) }
	missing, _, err := theory.RunTrials(ctx, samples, c.model, func(model theory.Model, x theory.Trial) (missing []string, err error) {
		sample, where, rep := samples.Draw(x), samples.Name(x), x.Replicate
		// Where a maximum lies at infinity, as with few rows, the point where the descent
		// stops is the estimate, as it would be in practice.
		theta, err := c.fit(model, sample)
		if err != nil {
			missing = append(missing, where+", shared factors")
		}
		logq, own := make([]float64, len(sample)), make([]float64, t.Atoms*t.Classes)
		if err := model.LogProbs(logq, theta); err != nil {
			return nil, err
		}
		for _, v := range cells {
			law := t.Of(c.Label, v)
			shared[v][rep] = cellKL(law, t.Of(logq, v), t.Atoms)
			if floats.Sum(t.Of(sample, v))*float64(N) < leastRows {
				unshared[v][rep] = -1
				continue
			}
			free, A := c.ofCell(v), c.Table.Link(v, c.Theta)
			if theory.Fit(free, theory.NullSpace{}, A, c.within(sample, v)) != nil {
				missing = append(missing, fmt.Sprintf("%s, cell %d", where, v))
			}
			if err := free.LogProbs(own, A); err != nil {
				return nil, err
			}
			unshared[v][rep] = cellKL(law, own, t.Atoms)
		}
		return missing, nil
	})
	return unshared, shared, slices.Concat(missing...), err
}

// cellKL is the mean over atoms of Σ_j q*_j log(q*_j / q_j).
func cellKL(law, logq []float64, atoms int) float64 {
	var kl float64
	for i, p := range law {
		kl += p * (math.Log(p) - logq[i])
	}
	return kl / float64(atoms)
}

// cellsWith lists the cells that are wanted.
func (c *comparison) cellsWith(wanted func(v int) bool) []int {
	return slices.DeleteFunc(data.UpTo(len(c.cellProb)), func(v int) bool { return !wanted(v) })
}

// slopes regresses log mean KL on (log n_V, log N_eff) over cells.
func (c *comparison) slopes(kl [][]float64, cells []int, N int, pick []int) (rows, effective float64) {
	var x1, x2, y []float64
	for _, v := range cells {
		var sum float64
		for _, rep := range pick {
			sum += kl[v][rep]
		}
		x1 = append(x1, math.Log(float64(N)*c.cellProb[v]))
		x2 = append(x2, math.Log(float64(N)*c.effective[v]))
		y = append(y, math.Log(sum/float64(len(pick))))
	}
	return plane(x1, x2, y)
}

// perRow is the mean over cells and replicates of 2 n_V·KL.
func (c *comparison) perRow(kl [][]float64, cells []int, N int, pick []int) float64 {
	var sum float64
	for _, v := range cells {
		for _, rep := range pick {
			sum += 2 * float64(N) * c.cellProb[v] * kl[v][rep]
		}
	}
	return sum / float64(len(cells)*len(pick))
}

// figure draws both errors against the cell count.
func (c *comparison) figure(unshared, shared [][]float64, cells []int, N int) theory.Figure {
	own, common := theory.Curve{Label: "one map per cell"}, theory.Curve{Label: "shared factors"}
	for _, v := range cells {
		n := float64(N) * c.cellProb[v]
		if n >= 2*leastRows {
			own.Add(n, quartiles(unshared[v]))
			common.Add(n, quartiles(shared[v]))
		}
	}
	C := float64(c.Table.Classes)
	return theory.LogLog("kl", "Shared factors against one map per cell, N = 1e6", "n_V, rows of the cell",
		"KL(true ‖ fitted), median and quartiles", own, common, own.PowerLaw("(C² − 1)/(2 n_V)", (C*C-1)/2, -1))
}

// plane returns the least-squares coefficients of y on 1, x1, x2 without the intercept's.
func plane(x1, x2, y []float64) (b1, b2 float64) {
	design := mat.NewDense(len(y), 3, nil)
	for i := range y {
		design.SetRow(i, []float64{1, x1[i], x2[i]})
	}
	var b mat.VecDense
	if err := b.SolveVec(design, mat.NewVecDense(len(y), y)); err != nil {
		return math.NaN(), math.NaN()
	}
	return b.AtVec(1), b.AtVec(2)
}

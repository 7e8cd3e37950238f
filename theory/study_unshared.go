package theory

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
)

// minUnsharedRows is the cell count from which the unshared maps' error is
// compared with its first-order theory; below, their maximum of the likelihood is
// often at infinity.
const minUnsharedRows = 30000

// leastRows is the fewest rows a cell's own map is fitted to.
const leastRows = 20

// rareRows bounds the cells in which sharing is compared: 50 to 300 rows.
var rareRows = Band{50, 300}

func runUnshared(ctx context.Context, s Settings, r *Report) error {
	d := s.design()
	truth, err := NewTruth(d, newRand(s.Seed, 16))
	if err != nil {
		return err
	}
	gauge := Rescaling{d.Classes, d.Codewords}
	gauge.Fix(truth.Theta, nil)
	cellProb := truth.Table.Multinomial(d.Frequencies(0))
	c := &comparison{
		truth: truth, gauge: gauge, cellProb: cellProb,
		population: truth.Weights(cellProb), replicates: 40, seed: s.Seed,
	}
	c.effective = effectiveCount(truth.Table, truth.Table.Occupancy(cellProb))

	const large = 1e8
	unshared, shared, err := c.run(ctx, large)
	if err != nil {
		return err
	}
	// The slopes need cells of every size, each with rows enough for its own map.
	enough := c.cellsWith(large, Band{minUnsharedRows, math.Inf(1)})
	e := bootstrap(1, c.replicates, newRand(s.Seed, 17), func(pick [][]int) []float64 {
		uRows, uEff := c.slopes(unshared, enough, large, pick[0])
		sRows, sEff := c.slopes(shared, enough, large, pick[0])
		return []float64{uRows, uEff, c.perRow(unshared, enough, large, pick[0]), sRows, sEff}
	})
	C := d.Classes
	r.judge("unshared: slope of KL on log n_V", e[0], "-1: only the cell's own rows count", between(-1.1, -0.9))
	r.judge("unshared: |slope of KL on log N_eff|", absolute(e[1]), "0", atMost(0.1))
	r.judge("unshared: 2 n_V·KL, mean", e[2], fmt.Sprintf("C² − 1 = %d", C*C-1), between(0.9*float64(C*C-1), 1.1*float64(C*C-1)))
	r.tell("shared, same cells: slope of KL on log n_V", e[3], "near 0")
	r.tell("shared, same cells: slope of KL on log N_eff", e[4], "toward -1: the codewords' rows count")

	const medium = 1e6
	c.replicates = choose(s, 10, 40)
	unshared, shared, err = c.run(ctx, medium)
	if err != nil {
		return err
	}
	rare := c.cellsWith(medium, rareRows)
	e = bootstrap(1, c.replicates, newRand(s.Seed, 18), func(pick [][]int) []float64 {
		var ratios []float64
		for _, v := range rare {
			for _, rep := range pick[0] {
				if unshared[v][rep] > 0 {
					ratios = append(ratios, unshared[v][rep]/shared[v][rep])
				}
			}
		}
		return []float64{median(ratios)}
	})
	r.tell(fmt.Sprintf("KL unshared / shared at N = 1e6 in cells of %g–%g rows, median", rareRows.Low, rareRows.High), e[0], "≫ 1")
	r.Figures = append(r.Figures, c.figure(unshared, shared, medium))
	return nil
}

// absolute folds an interval around zero.
func absolute(e Estimate) Estimate {
	low := math.Min(math.Abs(e.Low), math.Abs(e.High))
	if e.Low < 0 && e.High > 0 {
		low = 0
	}
	return Estimate{math.Abs(e.Value), low, math.Max(math.Abs(e.Low), math.Abs(e.High))}
}

// effectiveCount returns, per row of data, the harmonic mean of the occurrences of a
// cell's codewords: N_eff = w / Σ_i 1/N_{s(i)}.
func effectiveCount(t *Table, occupancy []float64) []float64 {
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
	truth      *Truth
	gauge      Rescaling
	cellProb   []float64
	population []float64
	effective  []float64 // N_eff/N per cell
	replicates int
	seed       uint64
}

// comparer is one goroutine's models.
type comparer struct {
	shared Model
	free   []free // per cell
}

// run returns KL(true ‖ fitted) of every cell and replicate, unshared and shared. A
// cell with fewer than leastRows rows has unshared KL −1: it is not fitted.
func (c *comparison) run(ctx context.Context, N int) (unshared, shared [][]float64, err error) {
	t := c.truth.Table
	unshared, shared = grid(len(t.Cells), c.replicates), grid(len(t.Cells), c.replicates)
	size := t.Atoms * t.Classes
	newComparer := func() (*comparer, error) {
		shared, err := trained(t, c.truth.Design.Identity)
		if err != nil {
			return nil, err
		}
		w := &comparer{shared: shared}
		for v := range t.Cells {
			w.free = append(w.free, newFree(t.cell(v), c.truth.Design.Identity))
		}
		return w, nil
	}
	err = forEach(ctx, c.replicates, newComparer, func(w *comparer, rep int) error {
		sample := Sample(c.population, N, newRand(c.seed, 19, uint64(N), uint64(rep)))
		theta := append([]float64(nil), c.truth.Theta...)
		if err := minimize(w.shared, c.gauge, theta, sample); err != nil {
			return err
		}
		logq := make([]float64, len(sample))
		if err := w.shared.LogProbs(logq, theta); err != nil {
			return err
		}
		own := make([]float64, size)
		for v := range t.Cells {
			law := c.truth.Label[v*size : (v+1)*size]
			shared[v][rep] = cellKL(law, logq[v*size:(v+1)*size], t.Atoms)
			rows := sample[v*size : (v+1)*size]
			total := floats.Sum(rows)
			if total*float64(N) < leastRows {
				unshared[v][rep] = -1
				continue
			}
			perCell := append([]float64(nil), rows...)
			floats.Scale(1/total, perCell)
			A := c.truth.logits(v)
			// With few rows the maximum may be at infinity: the point where the descent
			// stalls is then the estimate, as it would be in practice.
			_ = minimize(w.free[v], NullSpace{}, A, perCell)
			if err := w.free[v].LogProbs(own, A); err != nil {
				return err
			}
			unshared[v][rep] = cellKL(law, own, t.Atoms)
		}
		return nil
	})
	return unshared, shared, err
}

// cellKL is the mean over atoms of Σ_j q*_j log(q*_j / q_j).
func cellKL(law, logq []float64, atoms int) float64 {
	var kl float64
	for i, p := range law {
		kl += p * (math.Log(p) - logq[i])
	}
	return kl / float64(atoms)
}

// cellsWith lists the cells whose expected rows n_V lie in the band.
func (c *comparison) cellsWith(N int, rows Band) []int {
	var cells []int
	for v, p := range c.cellProb {
		if n := float64(N) * p; n >= rows.Low && n <= rows.High {
			cells = append(cells, v)
		}
	}
	return cells
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
func (c *comparison) figure(unshared, shared [][]float64, N int) Figure {
	f := Figure{
		Name: "kl", Title: "Shared factors against one map per cell, N = 1e6",
		XLabel: "n_V, rows of the cell", YLabel: "KL(true ‖ fitted), median", LogX: true, LogY: true,
	}
	own, common := Curve{Label: "one map per cell"}, Curve{Label: "shared factors"}
	for v, p := range c.cellProb {
		n := float64(N) * p
		if n < 2*leastRows {
			continue
		}
		own.X, own.Y = append(own.X, n), append(own.Y, median(unshared[v]))
		common.X, common.Y = append(common.X, n), append(common.Y, median(shared[v]))
	}
	C := float64(c.truth.Table.Classes)
	f.Curves = []Curve{own, common, powerLaw("(C² − 1)/(2 n_V)", (C*C-1)/2, -1, own.X)}
	return f
}

package theory

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
)

// countKind is what N_k may mean where codewords have shares e of a slot; of hard codes both are
// how often it is assigned.
type countKind struct {
	key, name string
	of        func(sum, squares float64) float64 // of Σ e and Σ e²
}

var countKinds = []countKind{
	{key: "sum", name: "Σ e", of: func(sum, _ float64) float64 { return sum }},
	{key: "effective", name: "(Σ e)²/Σ e²", of: func(sum, squares float64) float64 { return sum * sum / squares }},
}

// counts are N_k of each codeword where each cell was seen so often.
func (c countKind) counts(t *Table, cells []float64) []float64 {
	sums, squares := make([]float64, t.Codewords), make([]float64, t.Codewords)
	for v, cell := range t.Cells {
		for i, k := range cell.Codes {
			e := cell.share(i)
			sums[k] += cells[v] * e
			squares[k] += cells[v] * e * e
		}
	}
	for k := range sums {
		sums[k] = c.of(sums[k], squares[k])
	}
	return sums
}

// countLaws computes, for each meaning of N_k, how the errors of blocks at the largest N go with it
// over the populations.
func (o *outcome) countLaws(r *Report) {
	last := len(o.sizes) - 1
	for i, kind := range countKinds {
		var logNk [][]float64
		for _, p := range o.populations {
			logNk = append(logNk, logs(kind.counts(o.table, o.table.ofCells(p.weights))))
		}
		e := bootstrap(len(o.populations), o.count, newRand(o.Seed, o.salt, 2<<32, uint64(i)), func(pick [][]int) []float64 {
			var x, y []float64
			var codeword []int
			about := make([][]float64, o.table.Codewords)
			for s := range o.populations {
				for k := range o.table.Codewords {
					logError := math.Log(rms(o.errors(s, last, k), pick[s]))
					x, y, codeword = append(x, logNk[s][k]), append(y, logError), append(codeword, k)
					about[k] = append(about[k], logError+logNk[s][k]/2)
				}
			}
			var within, constants []float64
			for _, of := range about {
				within, constants = append(within, stat.PopVariance(of, nil)), append(constants, mean(of))
			}
			return []float64{slope(x, y, codeword), math.Sqrt(mean(within)), stat.PopStdDev(constants, nil)}
		})
		r.record("law-"+kind.key, "slope of the errors on N_k = "+kind.name+", codeword effects removed", e[0], "−1/2 if constants do not move")
		r.record("law-left-"+kind.key, "… what N_k^(−1/2) leaves of a codeword's log errors over the shifts, RMS", e[1], "0 if constants do not move")
		r.record("law-constants-"+kind.key, "… spread of the codewords' log constants", e[2], "0 if all were equal")
	}
}

// rarestCounts are N_k of the rarest codeword at the sizes where coverage is counted.
var rarestCounts = []float64{100, 1000, 10_000}

// noticedShare is the least share of a slot by which a codeword's N_k matters to a posterior.
const noticedShare = 0.1

// coverageByCounts counts the 90 % intervals of the posteriors that hold the truth, by N_k of the
// rarest codeword that a cell has a share of, for each meaning of N_k.
func (e *experiment) coverageByCounts(ctx context.Context, truth *Truth, r *Report) error {
	p, t := e.populations[0], e.of(e.populations[0], 1<<33)
	t.sizes = nil
	for _, rarest := range rarestCounts {
		t.sizes = append(t.sizes, int(rarest/floats.Min(p.occupancy)))
	}
	// By hand: with few rows a descent is long.
	found, losses, err := runTrials(ctx, t, newBilinear(e.table, 1), func(model Model, x trial) ([]coverage, error) {
		held := make([]coverage, len(countKinds))
		sample, theta := t.draw(x), slices.Clone(p.theta)
		if err := minimize(model, e.gauge, theta, sample); err != nil {
			return held, err
		}
		posteriors, _, err := e.table.intervalsAt(ctx, theta, sample, x.rows)
		if err != nil {
			return held, err
		}
		cells := e.table.ofCells(sample)
		floats.Scale(float64(x.rows), cells)
		for i, kind := range countKinds {
			held[i].countPosteriors(posteriors, truth, e.table.rarest(kind.counts(e.table, cells)))
		}
		return held, nil
	})
	if err != nil {
		return err
	}
	r.record("coverage-lost", fmt.Sprintf("samples of %d, of %v rows, without intervals", t.total(), t.sizes), exact(float64(len(losses))), "some, at N_k of a hundred")
	for i, kind := range countKinds {
		held := make([]coverage, len(found))
		for n, of := range found {
			held[n] = of[i]
		}
		kind.report(r, held, uint64(i))
	}
	return nil
}

// report adds the coverages by this N_k, the i-th of countKinds.
func (c countKind) report(r *Report, held []coverage, i uint64) {
	for class, low := range occurrenceEdges[:len(occurrenceEdges)-1] {
		if of := coverageOf(held, class, newRand(r.Seed, 1<<34, i, uint64(class))); !math.IsNaN(of.Value) {
			r.record(fmt.Sprintf("coverage-%s-%g", c.key, low), fmt.Sprintf("coverage of posteriors, rarest codeword N_k = %s ≥ %g", c.name, low), of, short(intervalLevel))
		}
	}
}

// rarest is the least count of a codeword that each cell has a share of.
func (t *Table) rarest(counts []float64) []float64 {
	least := make([]float64, len(t.Cells))
	for v, cell := range t.Cells {
		least[v] = math.Inf(1)
		for at, k := range cell.Codes {
			if cell.share(at) >= noticedShare {
				least[v] = math.Min(least[v], counts[k])
			}
		}
	}
	return least
}

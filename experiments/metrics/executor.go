package metrics

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// Executor takes the kernel sums of local metrics elsewhere than in this process. Its rows have
// coordinates z (N×d) in units of the bandwidth, residuals e and bins of each class (C×N each);
// bin −2 is none. done is false where this process is to do it.
type Executor interface {
	// Residuals fills in, N×C each and NaN where there is no bin, the local residuals and
	// effective sample sizes. progress is told now and then the share of the work done.
	Residuals(ctx context.Context, rows int, z, e []float32, bin []int32, residual, ess []float64, progress func(done float64)) (done bool, err error)
	// Redrawn adds up |residual| under each of T label vectors redrawn (T×N) instead of label
	// (N): sum and weight are T×C, Σ_i w_i |r_ic| in units of 2⁻⁴⁰ and Σ_i w_i; most (T×C) is
	// max_i |r_ic| and norm (T) max_i Σ_c |r_ic|.
	Redrawn(ctx context.Context, rows int, z, e []float32, bin, label, redrawn []int32, sum, weight []int64, most, norm []float64) (done bool, err error)
	// Resampled does the same under T replicates that draw groups of rows: group (N) names
	// each row's of count groups, draws (T×count) says how often a replicate has each.
	Resampled(ctx context.Context, rows int, z, e []float32, bin, group []int32, draws []float32, count int, sum, weight []int64, most, norm []float64) (done bool, err error)
	// Instead is nil where this process is to do what went wrong there, and else err.
	Instead(what string, err error) error
}

// elsewhere measures the kernel residuals of n there.
func (n *neighbours) elsewhere(ctx context.Context, x Executor, p *progress, out *Local) (done bool, err error) {
	if x == nil || n.sample.weight != nil { // which they take none of
		return false, nil
	}
	told := 0
	tell := func(rows int) {
		p.add(rows - told)
		told = rows
	}
	residual, ess := make([]float64, n.rows*n.classes), make([]float64, n.rows*n.classes)
	done, err = x.Residuals(ctx, n.rows, n.position, n.byClass(), n.own, residual, ess, func(done float64) { tell(int(done * float64(n.rows))) })
	if done {
		for j, i := range n.order {
			copy(out.Residual.RawRowView(i), residual[j*n.classes:(j+1)*n.classes])
			copy(out.ESS.RawRowView(i), ess[j*n.classes:(j+1)*n.classes])
		}
		if wrong := n.agrees(out); wrong != nil {
			done, err = false, x.Instead("local metrics run", wrong)
		}
	}
	switch {
	case done:
		tell(n.rows)
	case told > 0 && err == nil: // this process begins anew
		tell(0)
	}
	return done, err
}

// redrawnElsewhere counts the local residuals under redrawn labels there; labels are T+1
// vectors by row of the sample, first the observed.
func (n *neighbours) redrawnElsewhere(ctx context.Context, x Executor, labels []ids, counts *tally) (done bool, err error) {
	return n.countedElsewhere(x, counts, func(t *tally) (bool, error) {
		ordered := make([]int32, 0, len(labels)*n.rows)
		for _, label := range labels {
			for _, i := range n.order {
				ordered = append(ordered, label.at(i))
			}
		}
		return x.Redrawn(ctx, n.rows, n.position, n.byClass(), n.own, ordered[:n.rows], ordered[n.rows:], t.sum, t.weight, t.most, t.mostNorm)
	})
}

// resampledElsewhere counts the local residuals of the bootstrap replicates there.
func (n *neighbours) resampledElsewhere(ctx context.Context, x Executor, g *grouped, counts *tally) (done bool, err error) {
	return n.countedElsewhere(x, counts, func(t *tally) (bool, error) {
		group := make([]int32, n.rows)
		for j, i := range n.order {
			group[j] = int32(g.group[i])
		}
		return x.Resampled(ctx, n.rows, n.position, n.byClass(), n.own, group, g.draws, g.count, t.sum, t.weight, t.most, t.mostNorm)
	})
}

// countedElsewhere adds what count counts there, where there is an executor and rows have no weights, of which it takes none.
func (n *neighbours) countedElsewhere(x Executor, counts *tally, count func(t *tally) (done bool, err error)) (done bool, err error) {
	if x == nil || n.sample.weight != nil {
		return false, nil
	}
	t := newTally(counts.variants, n.classes)
	if done, err = count(t); done {
		counts.merge(t)
	}
	return done, err
}

// byClass is the residuals, C×rows.
func (n *neighbours) byClass() []float32 {
	e := make([]float32, n.rows*n.classes)
	for j := range n.rows {
		for c := range n.classes {
			e[c*n.rows+j] = float32(n.residual(j, c))
		}
	}
	return e
}

// agreement is how far the first stripe may be from this process's: residuals by themselves,
// sample sizes relative. Kernel values differ by some 1e-5.
const agreement = 1e-3

// agrees computes the first stripe in this process too.
func (n *neighbours) agrees(out *Local) error {
	rows, classes := out.Residual.Dims()
	want := &Local{Residual: mat.NewDense(rows, classes, nil), ESS: mat.NewDense(rows, classes, nil)}
	n.newStripe([]observer{writer{want}}).run(0)
	for _, i := range n.order[:min(lanes, n.rows)] {
		for c := range n.classes {
			r, s := want.Residual.At(i, c), want.ESS.At(i, c)
			if math.IsNaN(r) && math.IsNaN(out.Residual.At(i, c)) {
				continue
			}
			if !(math.Abs(out.Residual.At(i, c)-r) <= agreement) || !(math.Abs(out.ESS.At(i, c)-s) <= agreement*math.Max(1, s)) {
				return fmt.Errorf("metrics: row %d, class %d: the device gives a residual of %v and a sample size of %v, the CPU %v and %v",
					i, c, out.Residual.At(i, c), out.ESS.At(i, c), r, s)
			}
		}
	}
	return nil
}

package metrics

import (
	"context"
	"fmt"
	"math"

	"calibra/graph/kernelsum"

	"gonum.org/v1/gonum/mat"
)

// Executor takes the kernel sums of local metrics elsewhere than in this process. done is false
// where this process is to do it.
type Executor interface {
	// Residuals fills in, N×C each and NaN where there is no bin, the local residuals and
	// effective sample sizes.
	Residuals(ctx context.Context, rows kernelsum.Input, residual, ess []float64) (done bool, err error)
	// Redrawn fills out under each of T label vectors redrawn (T×N) instead of label (N).
	Redrawn(ctx context.Context, rows kernelsum.Input, label, redrawn []int32, out kernelsum.Tally) (done bool, err error)
	// Resampled does the same under T replicates that draw groups of rows: group (N) names
	// each row's of count groups, draws (T×count) is how often a replicate has each.
	Resampled(ctx context.Context, rows kernelsum.Input, group []int32, draws []float32, count int, out kernelsum.Tally) (done bool, err error)
	// Instead is nil where this process is to do what went wrong there, and else err.
	Instead(what string, err error) error
}

// elsewhere measures the kernel residuals of n there.
func (n *neighbours) elsewhere(ctx context.Context, x Executor, out *Local) (done bool, err error) {
	if x == nil || n.sample.Weight != nil || n.narrow != nil { // of which they take none
		return false, nil
	}
	residual, ess := make([]float64, n.rows*n.classes), make([]float64, n.rows*n.classes)
	done, err = x.Residuals(ctx, n.kernelRows(), residual, ess)
	if done {
		for j, i := range n.order {
			copy(out.Residual.RawRowView(i), residual[j*n.classes:(j+1)*n.classes])
			copy(out.ESS.RawRowView(i), ess[j*n.classes:(j+1)*n.classes])
		}
		if wrong := n.agrees(out); wrong != nil {
			done, err = false, x.Instead("local metrics run", wrong)
		}
	}
	return done, err
}

// redrawnElsewhere counts the local residuals under redrawn labels there; labels are T+1
// vectors by row of the sample, first the observed.
func (n *neighbours) redrawnElsewhere(ctx context.Context, x Executor, labels []ids, counts *tally) (done bool, err error) {
	return n.countedElsewhere(x, counts, func(out kernelsum.Tally) (bool, error) {
		ordered := make([]int32, 0, len(labels)*n.rows)
		for _, label := range labels {
			for _, i := range n.order {
				ordered = append(ordered, label.at(i))
			}
		}
		return x.Redrawn(ctx, n.kernelRows(), ordered[:n.rows], ordered[n.rows:], out)
	})
}

// resampledElsewhere counts the local residuals of the bootstrap replicates there.
func (n *neighbours) resampledElsewhere(ctx context.Context, x Executor, g *grouped, counts *tally) (done bool, err error) {
	return n.countedElsewhere(x, counts, func(out kernelsum.Tally) (bool, error) {
		group := make([]int32, n.rows)
		for j, i := range n.order {
			group[j] = int32(g.group[i])
		}
		return x.Resampled(ctx, n.kernelRows(), group, g.draws, g.count, out)
	})
}

// countedElsewhere adds what count counts there, where there is an executor and rows have neither weights nor
// bandwidths of their own, of which it takes none.
func (n *neighbours) countedElsewhere(x Executor, counts *tally, count func(out kernelsum.Tally) (done bool, err error)) (done bool, err error) {
	if x == nil || n.sample.Weight != nil || n.narrow != nil {
		return false, nil
	}
	t := counts.empty()
	if done, err = count(kernelsum.Tally{Sum: t.sum, Weight: t.weight, Most: t.most, Norm: t.mostNorm}); done {
		counts.merge(t)
	}
	return done, err
}

// kernelRows are the rows as an executor takes them.
func (n *neighbours) kernelRows() kernelsum.Input {
	e := make([]float32, n.rows*n.classes)
	for j := range n.rows {
		for c := range n.classes {
			e[c*n.rows+j] = float32(n.residual(j, c))
		}
	}
	return kernelsum.Input{Rows: n.rows, Dim: len(n.position) / n.rows, Classes: n.classes, Z: n.position, E: e, Bin: n.own}
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

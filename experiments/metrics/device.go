package metrics

import (
	"context"
	"errors"
	"fmt"
	"math"

	"calibra/graph/cuda"

	"gonum.org/v1/gonum/mat"
)

// onDevice measures the kernel residuals of n on the device that this process chose. It is
// false where the CPU is to do it: no device was chosen or is there, the rows are too few to
// pay, or, under auto, the device fails.
func (n *neighbours) onDevice(ctx context.Context, p *progress, out *Local) (done bool, err error) {
	pairs := float64(n.rows) * float64(n.rows) / 2
	told := 0
	tell := func(rows int) {
		p.add(rows - told)
		told = rows
	}
	done, err = n.tryDevice(pairs*float64(2*n.dim+20+12*n.classes), func(d *cuda.Device, sums *cuda.Local) error {
		if err := sums.Sum(ctx, d, func(done float64) { tell(int(done * float64(n.rows))) }); err != nil {
			return err
		}
		residual, ess := make([]float64, n.rows*n.classes), make([]float64, n.rows*n.classes)
		if err := sums.Residuals(residual, ess); err != nil {
			return err
		}
		for j, i := range n.order {
			copy(out.Residual.RawRowView(i), residual[j*n.classes:(j+1)*n.classes])
			copy(out.ESS.RawRowView(i), ess[j*n.classes:(j+1)*n.classes])
		}
		return n.agrees(d, out)
	})
	switch {
	case done:
		tell(n.rows)
	case told > 0 && err == nil: // the CPU begins anew
		tell(0)
	}
	return done, err
}

// redrawnOnDevice counts the local residuals under redrawn labels there; labels are T+1
// vectors by row of the sample, first the observed.
func (n *neighbours) redrawnOnDevice(ctx context.Context, labels [][]int, counts *tally) (done bool, err error) {
	pairs := float64(n.rows) * float64(n.rows)
	return n.tryDevice(pairs*float64(2*n.dim+20+2*len(labels)), func(d *cuda.Device, sums *cuda.Local) error {
		if err := sums.Sum(ctx, d, nil); err != nil {
			return err
		}
		ordered := make([]int32, 0, len(labels)*n.rows)
		for _, label := range labels {
			for _, i := range n.order {
				ordered = append(ordered, int32(label[i]))
			}
		}
		r, err := sums.Redraw(ctx, ordered[:n.rows], ordered[n.rows:])
		if err != nil {
			return err
		}
		counts.merge(&tally{variants: len(labels) - 1, classes: n.classes, sum: r.Sum, weight: r.Weight, most: r.Most, mostNorm: r.Norm})
		return nil
	})
}

// resampledOnDevice counts the local residuals of the bootstrap replicates there.
func (n *neighbours) resampledOnDevice(ctx context.Context, g *grouped, counts *tally) (done bool, err error) {
	rows, replicates := float64(n.rows), float64(counts.variants)
	flops := rows*rows*float64(2*n.dim+20+3*n.classes) + rows*float64(n.classes)*4*float64(g.count)*replicates
	return n.tryDevice(flops, func(d *cuda.Device, sums *cuda.Local) error {
		of := make([]int32, n.rows)
		for j, i := range n.order {
			of[j] = int32(g.of[i])
		}
		r, err := sums.Resample(ctx, d, of, g.draws, g.count)
		if err != nil {
			return err
		}
		counts.merge(&tally{variants: counts.variants, classes: n.classes, sum: r.Sum, weight: r.Weight, most: r.Most, mostNorm: r.Norm})
		return nil
	})
}

// tryDevice lends work of so many multiplications and additions the device, and the rows
// of n as it wants them.
func (n *neighbours) tryDevice(flops float64, work func(*cuda.Device, *cuda.Local) error) (done bool, err error) {
	d := cuda.For(flops, float64(n.rows)/lanes)
	if d == nil {
		return false, nil
	}
	d.Lock()
	defer d.Unlock()
	sums := &cuda.Local{Rows: n.rows, Dim: n.dim, Classes: n.classes, Z: n.position, E: make([]float32, n.rows*n.classes), Bin: n.own}
	for j := range n.rows {
		for c := range n.classes {
			sums.E[c*n.rows+j] = float32(n.residual[j*n.classes+c])
		}
	}
	err = work(d, sums)
	sums.Free()
	d.ClearError()
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), cuda.Chosen() != cuda.Auto:
		return false, err
	}
	cuda.Tell(fmt.Sprintf("local metrics run on the CPU: %v", err))
	return false, nil
}

// agreement is how far the first stripe on the device may be from the CPU's: residuals
// by themselves, sample sizes relative. Kernel values differ by some 1e-5.
const agreement = 1e-3

// agrees computes the first stripe on the CPU too.
func (n *neighbours) agrees(d *cuda.Device, out *Local) error {
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
				return fmt.Errorf("metrics: row %d, class %d: %s gives a residual of %v and a sample size of %v, the CPU %v and %v",
					i, c, d.Name(), out.Residual.At(i, c), out.ESS.At(i, c), r, s)
			}
		}
	}
	return nil
}

package metrics

import (
	"context"
	"errors"
	"fmt"
	"math"

	"calibra/graph/cuda"
)

// onDevice measures the kernel residuals of n on the device that this process chose. It is
// false where the CPU is to do it: no device was chosen or is there, the rows are too few to
// pay, or, under auto, the device fails.
func (n *neighbours) onDevice(ctx context.Context, p *progress, out *Local) (done bool, err error) {
	rows, pairs := float64(n.rows), float64(n.rows)*float64(n.rows)/2
	d := cuda.For(pairs*float64(2*n.dim+20+12*n.classes), rows/64)
	if d == nil {
		return false, nil
	}
	d.Lock()
	defer d.Unlock()
	switch err := n.measureOn(ctx, d, p, out); {
	case err == nil:
		return true, nil
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return false, err
	case cuda.Chosen() == cuda.Auto:
		d.ClearError()
		cuda.Tell(fmt.Sprintf("local metrics run on the CPU: %v", err))
		return false, nil
	default:
		return false, err
	}
}

func (n *neighbours) measureOn(ctx context.Context, d *cuda.Device, p *progress, out *Local) error {
	size := n.rows * n.classes
	e, residual, ess := make([]float32, size), make([]float64, size), make([]float64, size)
	for j := range n.rows {
		for c := range n.classes {
			e[c*n.rows+j] = float32(n.residual[j*n.classes+c])
		}
	}
	told := 0
	err := d.LocalSums(ctx, residual, ess, n.position, e, n.own, n.rows, n.dim, n.classes, func(done float64) {
		now := int(done * float64(n.rows))
		p.add(now - told)
		told = now
	})
	if err != nil {
		return err
	}
	for j, i := range n.order {
		copy(out.Residual.RawRowView(i), residual[j*n.classes:(j+1)*n.classes])
		copy(out.ESS.RawRowView(i), ess[j*n.classes:(j+1)*n.classes])
	}
	if err := n.agrees(d, out); err != nil {
		return err
	}
	p.add(n.rows - told)
	return nil
}

// agreement is how far the first stripe on the device may be from the CPU's: residuals
// by themselves, sample sizes relative. Kernel values differ by some 1e-5.
const agreement = 1e-3

// agrees computes the first stripe on the CPU too.
func (n *neighbours) agrees(d *cuda.Device, out *Local) error {
	want := &Local{Residual: filledDense(out.Residual.RawMatrix().Rows, n.classes, math.NaN()), ESS: filledDense(out.ESS.RawMatrix().Rows, n.classes, math.NaN())}
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

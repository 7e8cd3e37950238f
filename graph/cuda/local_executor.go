package cuda

import (
	"context"
	"errors"

	"calibra/graph/kernelsum"
)

// Residuals fills in, N×C each and NaN where there is no bin, the local residuals and effective
// sample sizes.
// done is false where the CPU is to do it, here and below.
func (x *Executor) Residuals(ctx context.Context, rows kernelsum.Input, residual, ess []float64) (done bool, err error) {
	l := &Local{Input: rows}
	return x.sums(l, l.pairs()/2*float64(2*l.Dim+20+12*l.Classes), func(d *Device) error {
		if err := l.Sum(ctx, d); err != nil {
			return err
		}
		return l.Residuals(residual, ess)
	})
}

// Redrawn fills out under each of T label vectors redrawn (T×N) instead of label (N).
func (x *Executor) Redrawn(ctx context.Context, rows kernelsum.Input, label, redrawn []int32, out kernelsum.Tally) (done bool, err error) {
	l := &Local{Input: rows}
	return x.sums(l, l.pairs()*float64(2*l.Dim+20+2*(len(redrawn)/l.Rows+1)), func(d *Device) error {
		if err := l.Sum(ctx, d); err != nil {
			return err
		}
		return l.Redraw(ctx, label, redrawn, out)
	})
}

// Resampled does the same under T replicates that draw groups of rows: group (N) names each
// row's of count groups, draws (T×count) is how often a replicate has each.
func (x *Executor) Resampled(ctx context.Context, rows kernelsum.Input, group []int32, draws []float32, count int, out kernelsum.Tally) (done bool, err error) {
	l := &Local{Input: rows}
	flops := l.pairs()*float64(2*l.Dim+20+3*l.Classes) + float64(l.Rows*l.Classes)*4*float64(len(draws))
	return x.sums(l, flops, func(d *Device) error {
		return l.Resample(ctx, d, group, draws, count, out)
	})
}

// pairs is how many pairs of rows there are, each counted twice.
func (l *Local) pairs() float64 { return float64(l.Rows) * float64(l.Rows) }

// rowsOfALaunch is how many rows a launch of kernel sums is taken to be of.
const rowsOfALaunch = 64

// sums lends work of so many multiplications and additions the device.
func (x *Executor) sums(l *Local, flops float64, work func(d *Device) error) (done bool, err error) {
	if !x.pays(flops, float64(l.Rows)/rowsOfALaunch) {
		return false, nil
	}
	err = x.do(func() error {
		defer l.Free()
		l.device = x.device
		return work(x.device)
	})
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err == nil, err
	}
	return false, x.Instead("local metrics run", err)
}

package cuda

import (
	"context"
	"fmt"
)

// Local is a set of rows whose kernel sums are taken: N rows of Dim coordinates z in units
// of the bandwidth, residuals e and bins of each class (C×N each), bin −2 being no bin.
type Local struct {
	Rows, Dim, Classes int
	Z, E               []float32
	Bin                []int32

	device    *Device
	z, e, bin Memory
	sums      Memory // lanes×3×C×N float64: S, Q and R
	lanes     int
}

// mostWaves is how many waves of pairs one launch takes, with a lane of sums each.
const mostWaves = 8

// Sum uploads l and takes, over j ≠ i in the same bin of class c, the sums of
// K_ij = exp(−‖z_i − z_j‖²/2),
//
//	S_ic = Σ_j K_ij,  Q_ic = Σ_j K_ij²,  R_ic = Σ_j K_ij e_jc
//
// Where the memory is short the waves of a launch are halved. progress, which may be nil,
// is told now and then the share of pairs that is done. Free gives the memory back, also
// after an error.
func (l *Local) Sum(ctx context.Context, d *Device, progress func(done float64)) error {
	l.upload(d)
	cells, n := l.Classes*l.Rows, l.Rows
	spare := d.Alloc64(2 * cells) // what results take later
	waves := mostWaves
	l.sums = d.Alloc64((1 + waves) * 3 * cells)
	for outOfMemory(d.err) && waves > 1 && spare.at != 0 {
		d.ClearError()
		waves /= 2
		l.sums = d.Alloc64((1 + waves) * 3 * cells)
	}
	d.Free(spare)
	if outOfMemory(d.err) {
		return fmt.Errorf("%w; the local metrics of %d rows, %d classes and %d dimensions need %s", d.err, n, l.Classes, l.Dim, inUnits(4*len(l.Z)+8*cells+16*cells+2*3*8*cells))
	}
	l.lanes = 1 + waves
	d.Clear(l.sums)
	tiles := (n + tile - 1) / tile
	for wave := 0; 2*wave <= tiles && d.err == nil; wave += waves {
		d.launch("local_waves", Grid{tiles, 1, 1, threads, 1}, l.sums, l.z, l.e, l.bin, n, l.Dim, l.Classes, wave, waves)
		if err := ctx.Err(); err != nil {
			d.Sync()
			return err
		}
		if progress != nil && wave%(8*waves) == 0 {
			d.Sync()
			progress(min(1, 2*float64(wave+waves)/float64(tiles)))
		}
	}
	return d.err
}

func (l *Local) upload(d *Device) {
	l.device = d
	l.z, l.e, l.bin = Uploaded(d, l.Z), Uploaded(d, l.E), Uploaded(d, l.Bin)
}

// Residuals gives, N×C each and NaN where there is no bin, the local residuals
// (R + e)/(S + 1), K_ii being 1, and the effective sample sizes S²/Q.
func (l *Local) Residuals(residual, ess []float64) error {
	d, cells := l.device, l.Classes*l.Rows
	r, q := d.Alloc64(cells), d.Alloc64(cells)
	defer d.Free(r, q)
	d.launch("local_finish", each(cells), r, q, l.sums, l.e, l.bin, l.Rows, l.Classes, l.lanes)
	Download(d, residual, r)
	Download(d, ess, q)
	return d.err
}

// Tally is what local residuals are under each of T redrawn label vectors or replicates.
type Tally struct {
	Sum, Weight []int64   // T×C: Σ_i w_i |r_ic| in units of 2⁻⁴⁰, and Σ_i w_i
	Most        []float64 // T×C: max_i |r_ic|
	Norm        []float64 // T: max_i Σ_c |r_ic|
}

func newTally(times, classes int) *Tally {
	return &Tally{make([]int64, times*classes), make([]int64, times*classes), make([]float64, times*classes), make([]float64, times)}
}

// Redraw takes the residuals of l under each of redrawn (T×N) instead of label (N), after
// Sum. Where the memory is short it takes fewer vectors at a time.
func (l *Local) Redraw(ctx context.Context, label, redrawn []int32) (*Tally, error) {
	d, n, classes := l.device, l.Rows, l.Classes
	times, plane := len(redrawn)/n, classes*n
	out := newTally(times, classes)
	labels, observed := Uploaded(d, label), d.Alloc(plane)
	defer d.Free(labels, observed)
	if d.err != nil {
		return nil, d.err
	}
	l.labelSums(observed, labels, 1)
	for lo, chunk := 0, times; lo < times && d.err == nil; {
		if err := ctx.Err(); err != nil {
			d.Sync()
			return nil, err
		}
		count := min(chunk, times-lo)
		y := d.Alloc(count * plane)
		drawn := Uploaded(d, redrawn[lo*n:(lo+count)*n])
		sum, weight, most, norm := d.Alloc64(count*classes), d.Alloc64(count*classes), d.Alloc64(count*classes), d.Alloc64(count)
		if outOfMemory(d.err) && chunk > 1 {
			d.ClearError()
			d.Free(y, drawn, sum, weight, most, norm)
			chunk = (chunk + 1) / 2
			continue
		}
		l.labelSums(y, drawn, count)
		d.launch("redraw_tally", Grid{count, classes, 1, threads, 1}, sum, weight, most, l.sums, observed, y, l.e, l.bin, labels, drawn, n, classes, l.lanes)
		d.launch("redraw_norm", Grid{count, 1, 1, threads, 1}, norm, l.sums, observed, y, l.e, l.bin, labels, drawn, n, classes, l.lanes)
		Download(d, out.Sum[lo*classes:(lo+count)*classes], sum)
		Download(d, out.Weight[lo*classes:(lo+count)*classes], weight)
		Download(d, out.Most[lo*classes:(lo+count)*classes], most)
		Download(d, out.Norm[lo:lo+count], norm)
		d.Free(y, drawn, sum, weight, most, norm)
		lo += count
	}
	return out, d.err
}

// labelSums is Y_ic = Σ_j K_ij 1[y_j = c] in the same bin, for count label vectors.
func (l *Local) labelSums(y, labels Memory, count int) {
	l.device.Clear(y)
	l.device.launch("redraw_sums", Grid{(l.Rows + tile - 1) / tile, 1, 1, threads, 1}, y, l.z, labels, l.bin, l.Rows, l.Dim, l.Classes, count)
}

// Free gives the memory back.
func (l *Local) Free() { l.device.Free(l.z, l.e, l.bin, l.sums) }

package cuda

import (
	"context"
	"fmt"

	"calibra/graph/kernelsum"
	"calibra/graph/work"
)

// Local is a set of rows whose kernel sums are taken.
type Local struct {
	kernelsum.Input
	device    *Device
	z, e, bin Memory // in tiles
	sums      Memory // S, Q and R: 3×cells float64
}

// launchPairs is how many pairs of tiles a launch takes where the memory allows: some 8 for
// each block that a card runs at a time, so that few of them wait for the last.
const launchPairs = 1 << 12

// Sum uploads l and takes, over j ≠ i in the same bin of class c, the sums of
// K_ij = exp(−‖z_i − z_j‖²/2),
//
//	S_ic = Σ_j K_ij,  Q_ic = Σ_j K_ij²,  R_ic = Σ_j K_ij e_jc
//
// Where the memory is short the waves of a launch are halved. The share of
// pairs that is done is reported now and then, while d is unlocked. Free gives the memory back, also
// after an error.
func (l *Local) Sum(ctx context.Context, d *Device) error {
	l.upload(d)
	cells, tiles := l.cells(), l.tiles()
	l.sums = d.alloc64(3 * cells)
	all := tiles/2 + 1
	waves := max(1, min(launchPairs/tiles, all))
	lanes := d.alloc64(2 * waves * 3 * cells)
	for OutOfMemory(d.err) && waves > 1 && l.sums.at != 0 {
		d.clearError()
		waves /= 2
		lanes = d.alloc64(2 * waves * 3 * cells)
	}
	defer func() { d.Free(lanes) }()
	if OutOfMemory(d.err) {
		return fmt.Errorf("%w; the local metrics of %d rows, %d classes and %d dimensions need %s", d.err, l.Rows, l.Classes, l.Dim, inUnits(l.z.Bytes()+l.e.Bytes()+l.bin.Bytes()+3*3*8*cells))
	}
	d.Clear(lanes)
	for wave := 0; wave < all && d.err == nil; wave += waves {
		d.launch("local_waves", box(tiles, min(waves, all-wave), 1), lanes, l.z, l.e, l.bin, wide(l.Dim), l.Classes, wave)
		if err := ctx.Err(); err != nil {
			d.wait()
			return err
		}
		if wave%(8*waves) == 0 && d.wait() == nil {
			d.Unlock() // whoever is told may use the device
			work.Report(ctx, min(1, float64(wave+waves)/float64(all)), "pairs of rows on the device")
			d.Lock()
		}
	}
	d.launch("local_sum", each(3*cells), l.sums, lanes, 3*cells, 2*waves)
	return d.err
}

// tiles is how many tiles the rows fill, and cells how many numbers of each class they hold.
func (l *Local) tiles() int { return (l.Rows + tile - 1) / tile }
func (l *Local) cells() int { return l.tiles() * tile * l.Classes }

// wide is how many columns the tiles of dim coordinates have.
func wide(dim int) int { return (dim + 3) / 4 * 4 }

// skipped is the bin of rows in none.
const skipped = -2

// upload lays z, e and bins in tiles on the device.
func (l *Local) upload(d *Device) {
	l.device = d
	z, e, bin := Uploaded(d, l.Z), Uploaded(d, l.E), Uploaded(d, l.Bin)
	l.z, l.e, l.bin = d.Alloc(l.tiles()*tile*wide(l.Dim)), d.Alloc(l.cells()), d.Alloc(l.cells())
	l.toTiles(l.z, z, tiling{columns: l.Dim, wide: wide(l.Dim), rowApart: l.Dim, columnApart: 1})
	byClass := tiling{columns: l.Classes, wide: l.Classes, rowApart: 1, columnApart: l.Rows}
	l.toTiles(l.e, e, byClass)
	byClass.fill = skipped
	l.toTiles(l.bin, bin, byClass)
	d.Free(z, e, bin)
}

// tiling is columns whose entries lie so far apart, tiles of so many wide columns, and what fills
// their other entries.
type tiling struct{ columns, wide, rowApart, columnApart, fill int }

// toTiles lays x in tiles.
func (l *Local) toTiles(out, x Memory, by tiling) {
	count := l.tiles() * tile * by.wide
	l.device.launch("to_tiles", each(count), out, x, l.Rows, by.columns, by.wide, by.rowApart, by.columnApart, by.fill, count)
}

// Residuals gives, N×C each and NaN where there is no bin, the local residuals
// (R + e)/(S + 1), K_ii being 1, and the effective sample sizes S²/Q.
func (l *Local) Residuals(residual, ess []float64) error {
	d, cells := l.device, l.cells()
	r, q := d.alloc64(l.Rows*l.Classes), d.alloc64(l.Rows*l.Classes)
	defer d.Free(r, q)
	d.launch("local_finish", each(cells), r, q, l.sums, l.e, l.bin, l.Rows, l.Classes, cells)
	Download(d, residual, r)
	Download(d, ess, q)
	return d.err
}

// Redraw fills out with the residuals of l under each of redrawn (T×N) instead of label (N),
// after Sum. Where the memory is short it takes fewer vectors at a time.
func (l *Local) Redraw(ctx context.Context, label, redrawn []int32, out kernelsum.Tally) error {
	d, n, classes := l.device, l.Rows, l.Classes
	times, plane := len(redrawn)/n, l.cells()
	labels, observed := Uploaded(d, label), d.Alloc(plane)
	defer d.Free(labels, observed)
	if d.err != nil {
		return d.err
	}
	l.labelSums(observed, labels, 1)
	for lo, chunk := 0, times; lo < times && d.err == nil; {
		if err := ctx.Err(); err != nil {
			d.wait()
			return err
		}
		count := min(chunk, times-lo)
		y := d.Alloc(count * plane)
		drawn := Uploaded(d, redrawn[lo*n:(lo+count)*n])
		sum, weight, most, norm := d.alloc64(count*classes), d.alloc64(count*classes), d.alloc64(count*classes), d.alloc64(count)
		if OutOfMemory(d.err) && chunk > 1 {
			d.clearError()
			d.Free(y, drawn, sum, weight, most, norm)
			chunk = (chunk + 1) / 2
			continue
		}
		l.labelSums(y, drawn, count)
		d.launch("redraw_tally", box(count, classes, 1), sum, weight, most, l.sums, observed, y, l.e, l.bin, labels, drawn, n, classes)
		d.launch("redraw_norm", blocks(count), norm, l.sums, observed, y, l.e, l.bin, labels, drawn, n, classes)
		Download(d, out.Sum[lo*classes:(lo+count)*classes], sum)
		Download(d, out.Weight[lo*classes:(lo+count)*classes], weight)
		Download(d, out.Most[lo*classes:(lo+count)*classes], most)
		Download(d, out.Norm[lo:lo+count], norm)
		d.Free(y, drawn, sum, weight, most, norm)
		lo += count
	}
	return d.err
}

// A block of redraw_sums takes up to mostDrawn label vectors, some for each of its sharers,
// and holds heldSums sums and bins of each of its rows.
const (
	mostDrawn = 16
	sharers   = 4
	heldSums  = 90
)

// labelSums is Y_ic = Σ_j K_ij 1[y_j = c] in the same bin, for count label vectors.
func (l *Local) labelSums(y, labels Memory, count int) {
	name, vectors := "redraw_sums", min(mostDrawn, (heldSums/l.Classes-1)/sharers*sharers)
	if vectors < sharers {
		name, vectors = "redraw_sums_wide", mostDrawn
	}
	l.device.launch(name, box(l.tiles(), (count+vectors-1)/vectors, 1), y, l.z, labels, l.bin, l.Rows, wide(l.Dim), l.Classes, count, vectors)
}

func (l *Local) Free() { l.device.Free(l.z, l.e, l.bin, l.sums) }

package cuda

import (
	"context"
	"fmt"
)

// mostWaves is how many waves of pairs one launch takes, with a lane of sums each.
const mostWaves = 8

// LocalSums gives the local residuals and effective sample sizes of N rows in C classes,
//
//	residual_ic = (e_ic + Σ_j K_ij e_jc)/(1 + Σ_j K_ij),  ess_ic = (Σ_j K_ij)²/Σ_j K_ij²
//
// over j ≠ i in the same bin of class c, with K_ij = exp(−‖z_i − z_j‖²/2): z is N×dim in
// units of the bandwidth, e and bin are C×N, bin −2 being no bin. Both results are N×C,
// NaN where there is no bin. Where the memory is short the waves of a launch are halved.
// progress, which may be nil, is told the share of pairs that is done.
func (d *Device) LocalSums(ctx context.Context, residual, ess []float64, z, e []float32, bin []int32, n, dim, classes int, progress func(done float64)) error {
	cells := classes * n
	zs, es, bins, out := Uploaded(d, z), Uploaded(d, e), Uploaded(d, bin), d.Alloc64(2*cells)
	defer d.Free(zs, es, bins, out)
	waves, sums := mostWaves, d.Alloc64((1+mostWaves)*3*cells)
	for ; outOfMemory(d.err) && waves > 1 && bins.at != 0 && out.at != 0; waves /= 2 {
		d.ClearError()
		sums = d.Alloc64((1 + waves/2) * 3 * cells)
	}
	defer func() { d.Free(sums) }()
	if outOfMemory(d.err) {
		return fmt.Errorf("%w; the local metrics of %d rows, %d classes and %d dimensions need %s", d.err, n, classes, dim, inUnits(4*len(z)+8*cells+16*cells+2*3*8*cells))
	}
	d.Clear(sums)
	tiles := (n + tile - 1) / tile
	for wave := 0; 2*wave <= tiles && d.err == nil; wave += waves {
		d.launch("local_waves", Grid{tiles, 1, 1, threads, 1}, sums, zs, es, bins, n, dim, classes, wave, waves)
		if err := ctx.Err(); err != nil {
			d.Sync()
			return err
		}
		if progress != nil && wave%(8*waves) == 0 {
			d.Sync()
			progress(min(1, 2*float64(wave+waves)/float64(tiles)))
		}
	}
	if d.err == nil {
		r, q := out.Slice(0, 8*cells), out.Slice(8*cells, 8*cells)
		d.launch("local_finish", each(cells), r, q, sums, es, bins, n, classes, 1+waves)
		Download(d, residual, r)
		Download(d, ess, q)
	}
	return d.err
}

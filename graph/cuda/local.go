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
	zs, es, bins := Uploaded(d, z), Uploaded(d, e), Uploaded(d, bin)
	defer func() { d.Free(zs, es, bins) }()
	waves, sums := mostWaves, Memory{}
	plane := 3 * classes * n
	for ; d.err == nil; waves /= 2 {
		sums = d.Alloc64((1 + waves) * plane)
		if !outOfMemory(d.err) {
			break
		}
		if waves == 1 {
			return fmt.Errorf("%w; the local metrics of %d rows and %d classes need %s", d.err, n, classes, inUnits(len(z)*4+plane*16+len(e)*8+8*len(residual)*2))
		}
		d.ClearError()
	}
	defer func() { d.Free(sums) }()
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
	out := d.Alloc64(2 * classes * n)
	defer func() { d.Free(out) }()
	half := 8 * classes * n
	if d.err == nil {
		r, q := out.Slice(0, half), out.Slice(half, half)
		d.launch("local_finish", each(classes*n), r, q, sums, es, bins, n, classes, 1+waves)
		Download(d, residual, r)
		Download(d, ess, q)
	}
	return d.err
}

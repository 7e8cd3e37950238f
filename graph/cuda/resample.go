package cuda

import (
	"context"
	"fmt"

	"calibra/graph/kernelsum"
)

// mostResampled is how many numbers the tiles at hand of a bootstrap may take.
const mostResampled = 1 << 26

// Resample uploads l and fills out with its residuals under bootstrap replicates that draw groups
// of rows: group names each row's (N) of count groups, draws (B×count) is how often a
// replicate has each. Where the memory is short it takes fewer tiles of rows at a time.
// Free gives the memory back, also after an error.
func (l *Local) Resample(ctx context.Context, d *Device, group []int32, draws []float32, count int, out kernelsum.Tally) error {
	l.upload(d)
	replicates, classes := len(draws)/count, l.Classes
	b := &bootstrap{
		Local: l, groups: Uploaded(d, group), drawn: Uploaded(d, draws), replicates: replicates, count: count,
		sum: d.alloc64(replicates * classes), weight: d.alloc64(replicates * classes), most: d.alloc64(replicates * classes), norm: d.alloc64(replicates),
	}
	defer func() { d.Free(b.groups, b.drawn, b.sum, b.weight, b.most, b.norm) }()
	for _, m := range []Memory{b.sum, b.weight, b.most, b.norm} {
		d.Clear(m)
	}
	tiles := (l.Rows + tile - 1) / tile
	each := classes * tile * 2 * (count + replicates) // numbers of a tile
	chunk := min(tiles, max(1, mostResampled/each))
	for lo := 0; lo < tiles && d.err == nil; {
		if err := ctx.Err(); err != nil {
			d.wait()
			return err
		}
		n := min(chunk, tiles-lo)
		switch {
		case b.take(d, lo, n):
			lo += n
		case chunk > 1:
			d.clearError()
			chunk = (chunk + 1) / 2
		default:
			return fmt.Errorf("%w; a bootstrap of %d replicates in %d classes needs %s at least", d.err, replicates, classes, inUnits(4*each))
		}
	}
	Download(d, out.Sum, b.sum)
	Download(d, out.Weight, b.weight)
	Download(d, out.Most, b.most)
	Download(d, out.Norm, b.norm)
	return d.err
}

// bootstrap is a Resample with its memory on the device.
type bootstrap struct {
	*Local
	groups, drawn           Memory
	replicates, count       int
	sum, weight, most, norm Memory
}

// take adds n tiles of rows from tile lo on; false where the memory is short and nothing was added.
func (b *bootstrap) take(d *Device, lo, n int) bool {
	pairCount := n * b.Classes
	s, r := d.Alloc(pairCount*b.count*tile), d.Alloc(pairCount*b.count*tile)
	sb, rb := d.Alloc(pairCount*b.replicates*tile), d.Alloc(pairCount*b.replicates*tile)
	defer func() { d.Free(s, r, sb, rb) }()
	if OutOfMemory(d.err) {
		return false
	}
	d.Clear(s)
	d.Clear(r)
	d.launch("group_sums", blocks(n), s, r, b.z, b.e, b.bin, b.groups, lo, b.Rows, wide(b.Dim), b.Classes, b.count)
	p := product{of: xy, x: b.drawn, m: b.replicates, n: tile, k: b.count, pairs: pairs{
		count: pairCount, inner: 1, apartX: apart{row: b.count}, apartY: apart{row: tile, outer: b.count * tile}, apartZ: apart{row: tile, outer: b.replicates * tile},
	}}
	p.z, p.y = sb, s
	d.products(p, b.count)
	p.z, p.y = rb, r
	d.products(p, b.count)
	d.launch("resample_tally", box(b.replicates, b.Classes, 1), b.sum, b.weight, b.most, sb, rb, b.e, b.bin, b.groups, b.drawn, lo, n, b.Rows, b.Classes, b.replicates, b.count)
	d.launch("resample_norm", blocks(b.replicates), b.norm, sb, rb, b.e, b.bin, b.groups, b.drawn, lo, n, b.Rows, b.Classes, b.replicates, b.count)
	return true
}

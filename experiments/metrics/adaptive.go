package metrics

import (
	"context"
	"math"

	"calibra/experiments/internal/checked"
	"calibra/experiments/metrics/internal/tile"
	"calibra/graph/work"
)

// adapt gives each row i where the kernel is summed a bandwidth γ_i of its own: the distance within which a share ε of
// the other rows lies, whatever their bins, by weight (a balloon estimator, Terrell and Scott 1992). K_ij is then
// exp(−‖z_i−z_j‖²/(2γ_i²)). Resamples and redraws keep these bandwidths.
func (b *binned) adapt(ctx context.Context, z *scaled) error {
	if b.settings.Epsilon == 0 {
		return nil
	}
	if err := b.settings.CheckEpsilon(b.N); err != nil {
		return err
	}
	rows, position := b.firstOrder()[:b.receivers()], z.positions(checked.FirstToLast(b.N))
	z.narrow = make([]float32, b.N)
	stripes := work.Parts{What: "bandwidth of each row", N: (len(rows) + lanes - 1) / lanes}
	return stripes.With(ctx, func() func(context.Context, int) error {
		turned, far, row := make([]float32, z.dim*lanes), make([]float32, b.N*lanes), make([]float32, b.N)
		return func(_ context.Context, k int) error {
			of := rows[k*lanes : min((k+1)*lanes, len(rows))]
			tile.Transpose(turned, lanes, z.positions(of), z.dim, len(of), z.dim)
			tile.Distances(far, position, z.dim, b.N, z.dim, turned)
			for l, i := range of {
				for j := range row {
					row[j] = -2 * far[j*lanes+l]
				}
				z.narrow[i] = min(1/b.within(row, i, b.settings.Epsilon), math.MaxFloat32)
			}
			return nil
		}
	})
}

// within is the least of squared distances from row i (N) within which a share of the other rows lies.
func (b *binned) within(squares []float32, i int, share float64) float32 {
	enough := share * (b.Total() - b.W(i))
	low, high := uint32(0), math.Float32bits(math.MaxFloat32) // floats of one sign are ordered as their bits
	for low < high {
		middle := low + (high-low)/2
		weight, most := 0.0, math.Float32frombits(middle)
		for j, d := range squares {
			if d <= most && j != i {
				weight += b.W(j)
			}
		}
		if weight >= enough {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return math.Float32frombits(low)
}

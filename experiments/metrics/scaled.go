package metrics

import (
	"fmt"
	"math"

	"calibra/experiments/internal/checked"

	"gonum.org/v1/gonum/mat"
)

// scaled is an embedding in units of the bandwidth, centred: only differences
// matter, and a far origin would cost float32 digits.
type scaled struct {
	dim   int
	write func(dst []float32, i int) // writes row i to dst, of dim numbers

	narrow []float32 // 1/γ_i² of each row where the kernel is summed, in these units; nil: 1 of all
}

func newScaled(z mat.Matrix, bandwidth float64) (*scaled, error) {
	rows, dim := z.Dims()
	centre, buffer := make([]float64, dim), make([]float64, dim)
	for i := range rows {
		for k, x := range checked.RowOf(z, i, buffer) {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return nil, fmt.Errorf("metrics: row %d: dimension %d of the embedding is %v: an embedding must be finite", i, k, x)
			}
			centre[k] += x / float64(rows)
		}
	}
	write := func(dst []float32, i int) {
		for k, x := range checked.RowOf(z, i, buffer) {
			dst[k] = float32((x - centre[k]) / bandwidth)
		}
	}
	return &scaled{dim: dim, write: write}, nil
}

// positions are the rows of order, one after the other.
func (z *scaled) positions(order []int) []float32 {
	out := make([]float32, len(order)*z.dim)
	for j, i := range order {
		z.write(out[j*z.dim:(j+1)*z.dim], i)
	}
	return out
}

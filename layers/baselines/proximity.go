package baselines

import (
	"cmp"
	"container/heap"
	"context"
	"errors"
	"fmt"
	"math"

	"calibra/data"
	"calibra/graph/simd"
	"calibra/layers"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// proximity is how near a row lies to the calibration rows, by its squared distances to the K
// nearest of them, between rows divided by their lengths, the neighbours found by exact search.
type proximity struct {
	points *mat.Dense // N×P, of length 1 (or 0)
	k      int        // K
}

// meanProximity is exp(−mean of the squared distances).
func meanProximity(nearest largest) float64 {
	if len(nearest) == 0 {
		return 1 // the only calibration row has no neighbour to be far from
	}
	return math.Exp(-floats.Sum(nearest) / float64(len(nearest)))
}

// defaultNeighbours is K of the published runs.
const defaultNeighbours = 50

func newProximity(z *mat.Dense, k int) (*proximity, error) {
	if k = cmp.Or(k, defaultNeighbours); k < 0 {
		return nil, &layers.SettingError{Reason: fmt.Sprintf("%d neighbours make no proximity; choose at least 1", k)}
	}
	return &proximity{unitRows(z), k}, nil
}

// unitRows divides each row by its length; rows of zeros stay.
func unitRows(z *mat.Dense) *mat.Dense {
	out := mat.DenseCopyOf(z)
	for _, row := range rowsOf(out) {
		if length := floats.Norm(row, 2); length > 0 {
			floats.Scale(1/length, row)
		}
	}
	return out
}

// of is the proximity of each row of z.
func (p *proximity) of(z *mat.Dense) []float64 {
	return p.search(context.Background(), unitRows(z), nil)
}

// own is the proximity of the calibration rows themselves, each and those of its kind (see
// [data.Set.Kinds]; nil: none) left out of its own neighbours.
func (p *proximity) own(ctx context.Context, kinds []int) ([]float64, error) {
	if kinds == nil {
		kinds = data.UpTo(p.points.RawMatrix().Rows)
	}
	out := p.search(ctx, p.points, kinds)
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("interrupted in the search for neighbours: %w", err)
	}
	return out, nil
}

// searchRows is how many rows are searched at a time: a block of 64 with 10⁶
// calibration rows takes 512 MiB.
const searchRows = 64

// search leaves rows out once ctx is cancelled. With kinds, the rows are the points, and none is a
// neighbour of its kind.
func (p *proximity) search(ctx context.Context, rows *mat.Dense, kinds []int) []float64 {
	out := make([]float64, rows.RawMatrix().Rows)
	squares := make([]float64, p.points.RawMatrix().Rows)
	for j, point := range rowsOf(p.points) {
		squares[j] = floats.Dot(point, point)
	}
	n, d := p.points.Dims()
	inBlocks(len(out), searchRows, func(lo, hi int) {
		if ctx.Err() != nil {
			return
		}
		products := make([]float64, (hi-lo)*n)
		simd.Dgemm(blas.NoTrans, blas.Trans, hi-lo, n, d, 1, rows.RawMatrix().Data[lo*d:hi*d], d, p.points.RawMatrix().Data, d, 0, products, n)
		nearest := make(largest, 0, min(p.k, n))
		for i := lo; i < hi; i++ {
			x := rows.RawRowView(i)
			own := floats.Dot(x, x)
			nearest = nearest[:0]
			for j, product := range products[(i-lo)*n : (i-lo+1)*n] {
				if kinds != nil && kinds[i] == kinds[j] {
					continue
				}
				nearest.keep(max(0, own+squares[j]-2*product), p.k)
			}
			out[i] = meanProximity(nearest)
		}
	})
	return out
}

// largest is a heap with its largest element first, which holds the k smallest of
// the numbers it was offered.
type largest []float64

func (h largest) Len() int           { return len(h) }
func (h largest) Less(i, j int) bool { return h[i] > h[j] }
func (h largest) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push appends v.
func (h *largest) Push(v any) { *h = append(*h, v.(float64)) }

// Pop is not asked for: what is too large is replaced.
func (h *largest) Pop() any { panic("baselines: nothing is taken from the nearest") }

// keep offers v.
func (h *largest) keep(v float64, k int) {
	switch {
	case len(*h) < k:
		heap.Push(h, v)
	case v < (*h)[0]:
		(*h)[0] = v
		heap.Fix(h, 0)
	}
}

// errNeighbours is why a method cannot be a network of single rows.
var errNeighbours = errors.New("it predicts a row with the help of its calibration rows")

package baselines

import (
	"context"
	"errors"
	"math"
	"slices"

	"calibra/graph/blas"
	"calibra/graph/work"

	gonum "gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// defaultNeighbours is K of the published runs.
const defaultNeighbours = 50

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

// searchRows is how many rows are searched at a time: a block of 64 with 10⁶
// calibration rows takes 512 MiB.
const searchRows = 64

// proximity is exp(−mean of the squared distances) of each row to the k nearest of the points (N×P), both of length 1
// or 0, found by exact search. With kinds the rows are the points, and none is a neighbour of its kind. Once ctx is
// cancelled rows are left out.
func proximity(ctx context.Context, points, rows *mat.Dense, k int, kinds []int) []float64 {
	out := make([]float64, rows.RawMatrix().Rows)
	squares := make([]float64, points.RawMatrix().Rows)
	for j, point := range rowsOf(points) {
		squares[j] = floats.Dot(point, point)
	}
	n, d := points.Dims()
	work.Ranges(len(out), searchRows, func(lo, hi int) {
		if ctx.Err() != nil {
			return
		}
		products := make([]float64, (hi-lo)*n)
		blas.Current().Dgemm(gonum.NoTrans, gonum.Trans, hi-lo, n, d, 1, rows.RawMatrix().Data[lo*d:hi*d], d, points.RawMatrix().Data, d, 0, products, n)
		nearest := make([]float64, 0, min(k, n)) // ascending
		for i := lo; i < hi; i++ {
			own := floats.Dot(rows.RawRowView(i), rows.RawRowView(i))
			nearest = nearest[:0]
			for j, product := range products[(i-lo)*n : (i-lo+1)*n] {
				if kinds != nil && kinds[i] == kinds[j] {
					continue
				}
				square := max(0, own+squares[j]-2*product)
				if len(nearest) == k {
					if square >= nearest[k-1] {
						continue
					}
					nearest = nearest[:k-1]
				}
				at, _ := slices.BinarySearch(nearest, square)
				nearest = slices.Insert(nearest, at, square)
			}
			if out[i] = 1; len(nearest) > 0 { // the only calibration row has no neighbour to be far from
				out[i] = math.Exp(-floats.Sum(nearest) / float64(len(nearest)))
			}
		}
	})
	return out
}

// errNeighbours is why a method cannot be a network of single rows.
var errNeighbours = errors.New("it predicts a row with the help of its calibration rows")

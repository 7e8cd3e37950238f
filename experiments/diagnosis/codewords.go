package diagnosis

import (
	"math"
	"math/rand/v2"
	"slices"

	"calibra/experiments/internal/checked"
	"calibra/graph/blas"
	"calibra/optim/estimate"

	gonum "gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// lloydRows are those that codewords are learned from at most.
const lloydRows = 8000

// lloyd is k codewords of rows.
func lloyd(of mat.Matrix, k int, rng *rand.Rand) *mat.Dense {
	n, _ := of.Dims()
	x, dense := of.(*mat.Dense)
	switch {
	case n > lloydRows:
		x = checked.RowsOf(of, rng.Perm(n)[:lloydRows])
	case !dense:
		x = checked.RowsOf(of, checked.FirstToLast(n))
	}
	return estimate.KMeans(x, nil, k, func(words *mat.Dense) []int { return nearest(x, words) }, rng)
}

// nearest is the row of words nearest to each row of x, the first among equals:
// argmin ‖w‖² − 2 wᵀx.
func nearest(x mat.Matrix, words *mat.Dense) []int {
	n, d := x.Dims()
	k, _ := words.Dims()
	norm := make([]float64, k)
	for w := range norm {
		norm[w] = floats.Dot(words.RawRowView(w), words.RawRowView(w))
	}
	word := make([]int, n)
	product, block := make([]float64, min(n, nearestBlock)*k), make([]float64, min(n, nearestBlock)*d)
	for first := 0; first < n; first += nearestBlock {
		rows := min(nearestBlock, n-first)
		product := product[:rows*k]
		for i := range rows {
			row := block[i*d : (i+1)*d]
			copy(row, checked.RowOf(x, first+i, row))
		}
		blas.Current().Dgemm(gonum.NoTrans, gonum.Trans, rows, k, d, 1, block, d, words.RawMatrix().Data, d, 0, product, k)
		for i := range rows {
			best := math.Inf(1)
			for w, dot := range product[i*k : (i+1)*k] {
				if d2 := norm[w] - 2*dot; d2 < best {
					best, word[first+i] = d2, w
				}
			}
		}
	}
	return word
}

// nearestBlock is how many rows meet all codewords at once.
const nearestBlock = 1024

// dissolved are words without the smallest, one after the other, until each is the nearest of so many rows of x.
func dissolved(words, x *mat.Dense, rows int) *mat.Dense {
	for {
		k, _ := words.Dims()
		count := make([]int, k)
		for _, w := range nearest(x, words) {
			count[w]++
		}
		least := slices.Index(count, slices.Min(count))
		if k == 1 || count[least] >= rows {
			return words
		}
		words = checked.RowsOf(words, slices.Delete(checked.FirstToLast(k), least, least+1))
	}
}

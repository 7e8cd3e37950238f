package diagnosis

import (
	"math"
	"math/rand/v2"
	"slices"

	"calibra/experiments/internal/checked"
	"calibra/graph/blas"

	gonum "gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

const (
	lloydPasses = 15
	lloydRows   = 8000 // at most, that codewords are learned from
)

// lloyd is k-means from k-means++ seeds (Arthur and Vassilvitskii 2007).
func lloyd(of mat.Matrix, k int, rng *rand.Rand) *mat.Dense {
	n, d := of.Dims()
	x, dense := of.(*mat.Dense)
	switch {
	case n > lloydRows:
		x, n = checked.RowsOf(of, rng.Perm(n)[:lloydRows]), lloydRows
	case !dense:
		x = checked.RowsOf(of, checked.FirstToLast(n))
	}
	words := mat.NewDense(k, d, nil)
	seed(words, x, rng)
	count := make([]float64, k)
	for range lloydPasses {
		word := nearest(x, words)
		words.Zero()
		clear(count)
		for i, w := range word {
			floats.Add(words.RawRowView(w), x.RawRowView(i))
			count[w]++
		}
		for w, rows := range count {
			if rows == 0 {
				words.SetRow(w, x.RawRowView(rng.IntN(n)))
				continue
			}
			floats.Scale(1/rows, words.RawRowView(w))
		}
	}
	return words
}

// seed draws words among the rows of x, each by the squared distance to those before.
func seed(words, x *mat.Dense, rng *rand.Rand) {
	n, _ := x.Dims()
	k, _ := words.Dims()
	distance := make([]float64, n) // squared, to the nearest word so far
	next := rng.IntN(n)
	for w := range k {
		words.SetRow(w, x.RawRowView(next))
		var sum float64
		for i := range distance {
			if d2 := checked.Squared(x.RawRowView(i), words.RawRowView(w)); w == 0 || d2 < distance[i] {
				distance[i] = d2
			}
			sum += distance[i]
		}
		u := rng.Float64() * sum
		for next = 0; next < n-1; next++ {
			if u -= distance[next]; u < 0 {
				break
			}
		}
	}
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

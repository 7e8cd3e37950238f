package estimate

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// lloydIterations is how many of Lloyd's iterations there are.
const lloydIterations = 15

// KMeans is k centres (k×d) of rows x (N×d) that count by their weights (N; nil: 1 each), which k-means++ (Arthur and
// Vassilvitskii 2007) and 15 of Lloyd's iterations place. nearest is the centre nearest to each row (N). A centre that
// no row is nearest to starts anew at the row that is farthest from its own.
func KMeans[I int | int32](
	x *mat.Dense, weights []float64, k int, nearest func(centres *mat.Dense) []I, rng *rand.Rand,
) *mat.Dense {
	n, d := x.Dims()
	if weights == nil {
		weights = slices.Repeat([]float64{1}, n)
	}
	centres := plusPlus(x, weights, k, rng)
	for range lloydIterations {
		codes := nearest(centres)
		sums, counts := mat.NewDense(k, d, nil), make([]float64, k)
		for i, c := range codes {
			counts[c] += weights[i]
			floats.AddScaled(sums.RawRowView(int(c)), weights[i], x.RawRowView(i))
		}
		var apart []float64
		if slices.Contains(counts, 0) {
			for i, c := range codes {
				apart = append(apart, squared(x.RawRowView(i), centres.RawRowView(int(c))))
			}
		}
		for c, count := range counts {
			if count == 0 {
				far := floats.MaxIdx(apart)
				apart[far], count = 0, 1
				sums.SetRow(c, x.RawRowView(far))
			}
			for j, sum := range sums.RawRowView(c) {
				centres.Set(c, j, sum/count)
			}
		}
	}
	return centres
}

// plusPlus draws each centre in proportion to the weight and the squared distance from those before.
func plusPlus(x *mat.Dense, weights []float64, k int, rng *rand.Rand) *mat.Dense {
	n, d := x.Dims()
	centres, apart := mat.NewDense(k, d, nil), slices.Repeat([]float64{math.Inf(1)}, n)
	anyone := func() int {
		if slices.Min(weights) == slices.Max(weights) {
			return rng.IntN(n)
		}
		above := floats.CumSum(make([]float64, n), weights)
		return min(n-1, sort.SearchFloat64s(above, rng.Float64()*above[n-1]))
	}
	at := anyone()
	for c := range k {
		centres.SetRow(c, x.RawRowView(at))
		total := 0.0
		for i := range n {
			apart[i] = min(apart[i], squared(x.RawRowView(i), centres.RawRowView(c)))
			total += weights[i] * apart[i]
		}
		if total == 0 {
			at = anyone() // all rows are alike
			continue
		}
		left := rng.Float64() * total
		for i, v := range apart {
			if left -= weights[i] * v; v > 0 {
				at = i
				if left <= 0 {
					break
				}
			}
		}
	}
	return centres
}

// squared is ‖a − b‖².
func squared(a, b []float64) (sum float64) {
	for j, v := range a {
		sum += (v - b[j]) * (v - b[j])
	}
	return sum
}

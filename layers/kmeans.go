package layers

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/op"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"
)

// KMeans is K codewords of all slots that k-means++ (Arthur and Vassilvitskii 2007) and 15 of
// Lloyd's iterations on 20,000 slots place, and that never move. A codeword that no slot is nearest
// to starts anew at the slot that is farthest from its own.
type KMeans struct {
	Codewords int // K; 0: 64

	words
}

var _ Codes = KMeans{}

// lloydIterations is how many of Lloyd's iterations there are.
const lloydIterations = 15

// Over is the sizes of cal's features in w slots (0: 64).
func (c KMeans) Over(cal *data.Set, slots int) (Sizes, error) {
	return sizesOver(cal, slots, cmp.Or(c.Codewords, 64))
}

// Twin draws the codewords.
func (c KMeans) Twin() Codes { return Fixed{Codewords: c.Codewords} }

// Init places the codewords among the slots of cal.
func (KMeans) Init(w *graph.Weights, cal *data.Set, s Sizes, rng *rand.Rand) error {
	x, weights := drawSlots(cal, s.Slots, manySlots, rng)
	n, d := x.Dims()
	if weights == nil {
		weights = slices.Repeat([]float64{1}, n)
	}
	centres, single := plusPlus(x, weights, s.Codewords, rng), singles(x)
	for range lloydIterations {
		codes, apart := nearestTo(single, centres)
		sums, counts := mat.NewDense(s.Codewords, d, nil), make([]float64, s.Codewords)
		for i, c := range codes {
			counts[c] += weights[i]
			floats.AddScaled(sums.RawRowView(int(c)), weights[i], x.RawRowView(i))
		}
		for c, count := range counts {
			if count == 0 {
				far := floats.MaxIdx(apart)
				apart[far] = 0
				sums.SetRow(c, x.RawRowView(far))
				counts[c] = 1
			}
			for j := range d {
				centres.Set(c, j, sums.At(c, j)/counts[c])
			}
		}
	}
	addWords(w, centres)
	return nil
}

// singles are the numbers of x, row by row, in single precision.
func singles(x *mat.Dense) []float32 { return graph.Matrix(tensor.Float32, x).Float32s() }

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
		centre := x.RawRowView(at)
		centres.SetRow(c, centre)
		total := 0.0
		for i := range n {
			var dist float64
			for j, v := range x.RawRowView(i) {
				dist += (v - centre[j]) * (v - centre[j])
			}
			apart[i] = min(apart[i], dist)
			total += weights[i] * apart[i]
		}
		if total == 0 {
			at = anyone() // all slots are alike
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

// nearestTo is the centre nearest to each slot of x, row by row, and their squared distance.
func nearestTo(x []float32, centres *mat.Dense) (codes []int32, apart []float64) {
	k, d := centres.Dims()
	single := singles(centres)
	var book op.Codebook
	book.Set(single, k, d)
	codes, apart = make([]int32, len(x)/d), make([]float64, len(x)/d)
	op.NearestRows(codes, x, &book)
	for i, c := range codes {
		for j, v := range single[int(c)*d:][:d] {
			diff := float64(x[i*d+j] - v)
			apart[i] += diff * diff
		}
	}
	return codes, apart
}

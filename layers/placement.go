package layers

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/simd"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"
)

// Placement is where the codewords of a book begin, or stay. [Draw] is the random twin of all
// others.
type Placement interface {
	// Place gives k codewords (k×d). Draw gives n slots, or as many as there are, drawn without
	// replacement, and the weights of their rows (nil: 1 each).
	Place(draw func(n int) (slots *mat.Dense, weights []float64), k int, rng *rand.Rand) *mat.Dense
}

// Draw takes k slots as they are, drawn by their weights.
type Draw struct{}

// Place is k drawn slots. Of some that are drawn alike, those with the least −log(u)/w are drawn by weight, u uniform
// (Efraimidis and Spirakis 2006).
func (Draw) Place(draw func(n int) (*mat.Dense, []float64), k int, rng *rand.Rand) *mat.Dense {
	slots, weights := draw(k)
	if weights == nil {
		return slots
	}
	slots, weights = draw(max(k, kmeansSlots))
	order, keys := data.UpTo(len(weights)), data.Each(weights, func(w float64) float64 { return rng.ExpFloat64() / w })
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(keys[i], keys[j]) })
	return data.RowsOf(slots, order[:min(k, len(order))])
}

// KMeans places codewords by k-means++ (Arthur and Vassilvitskii 2007) and Lloyd's iterations on
// 20,000 slots. A codeword that no slot is nearest to starts anew at the slot that is farthest
// from its own.
type KMeans struct{ Iterations int } // 0: 15

// kmeansSlots is how many slots codewords are placed by.
const kmeansSlots = 20000

// Place is the centres.
func (m KMeans) Place(draw func(n int) (*mat.Dense, []float64), k int, rng *rand.Rand) *mat.Dense {
	x, weights := draw(kmeansSlots)
	n, d := x.Dims()
	if weights == nil {
		weights = slices.Repeat([]float64{1}, n)
	}
	centres := plusPlus(x, weights, k, rng)
	single := singles(x)
	for range cmp.Or(m.Iterations, 15) {
		codes, apart := nearestTo(single, centres)
		sums, counts := mat.NewDense(k, d, nil), make([]float64, k)
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
	return centres
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
	var book simd.Codebook
	book.Set(single, k, d)
	codes, apart = make([]int32, len(x)/d), make([]float64, len(x)/d)
	simd.NearestRows(codes, x, &book)
	for i, c := range codes {
		for j, v := range single[int(c)*d:][:d] {
			diff := float64(x[i*d+j] - v)
			apart[i] += diff * diff
		}
	}
	return codes, apart
}

// left takes from each slot of x (n×d) the nearest of some codewords.
func left(x, codewords *mat.Dense) {
	codes, _ := nearestTo(singles(x), codewords)
	for i, c := range codes {
		for j, v := range codewords.RawRowView(int(c)) {
			x.Set(i, j, x.At(i, j)-v)
		}
	}
}

// placed is k codewords by p, or drawn where that is nil.
func placed(p Placement, draw func(n int) (*mat.Dense, []float64), k int, rng *rand.Rand) *mat.Dense {
	return cmp.Or[Placement](p, Draw{}).Place(draw, k, rng)
}

// slotsOf draws slots as [drawSlots] does.
func slotsOf(x mat.Matrix, weights []float64, w int, rng *rand.Rand) func(n int) (*mat.Dense, []float64) {
	return func(n int) (*mat.Dense, []float64) { return drawSlots(x, weights, w, n, rng) }
}

// seedRows is how many rows codewords are drawn from, 50 batches of 128 as published.
const seedRows = 50 * 128

// drawSlots draws k of the w slots of up to seedRows rows of x (N×M), without replacement, or
// all of them where they are fewer (k×d), with the weights of their rows (N; nil: 1 each).
func drawSlots(x mat.Matrix, rowWeights []float64, w, k int, rng *rand.Rand) (slots *mat.Dense, weights []float64) {
	n, m := x.Dims()
	d := m / w
	rows := rng.Perm(n)[:min(n, max(seedRows, k/w))]
	k = min(k, len(rows)*w)
	slots, buffer := mat.NewDense(k, d, nil), make([]float64, m)
	for to, at := range rng.Perm(len(rows) * w)[:k] {
		i := at % w
		slots.SetRow(to, data.Row(x, rows[at/w], buffer)[i*d:(i+1)*d])
		if rowWeights != nil {
			weights = append(weights, rowWeights[rows[at/w]])
		}
	}
	return slots, weights
}

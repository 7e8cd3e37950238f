package layers

import (
	"cmp"
	"math/rand/v2"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/op"
	"calibra/optim/estimate"

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

// Over is the sizes of cal's features in w slots (0: 64).
func (c KMeans) Over(cal *data.Set, slots int) (Sizes, error) {
	return sizesOver(cal, slots, cmp.Or(c.Codewords, 64))
}

// Twin draws the codewords.
func (c KMeans) Twin() Codes { return Fixed{Codewords: c.Codewords} }

// Init places the codewords among the slots of cal.
func (KMeans) Init(w *graph.Weights, cal *data.Set, s Sizes, rng *rand.Rand) error {
	x, weights := drawSlots(cal, s.Slots, manySlots, rng)
	single := graph.Matrix(tensor.Float32, x).Float32s()
	addWords(w, estimate.KMeans(x, weights, s.Codewords, func(centres *mat.Dense) []int32 {
		k, d := centres.Dims()
		var book op.Codebook
		book.Set(graph.Matrix(tensor.Float32, centres).Float32s(), k, d)
		codes := make([]int32, len(single)/d)
		op.NearestRows(codes, single, &book)
		return codes
	}, rng))
	return nil
}

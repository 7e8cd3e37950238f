package anchored

import (
	"math/rand/v2"

	"calibra/data"
	"calibra/graph"
	"calibra/layers"

	"gonum.org/v1/gonum/mat"
)

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// blobs are n rows of three Gaussian classes in 8 dimensions, with the logits of a
// classifier that is right about their places and twice too sure.
func blobs(n int, seed uint64) *data.Set {
	rng := newRand(seed)
	s := &data.Set{Features: mat.NewDense(n, 8, nil), Logits: mat.NewDense(n, 3, nil), Labels: make([]int, n)}
	for i := range n {
		y := rng.IntN(3)
		s.Labels[i] = y
		for j := range 8 {
			x := rng.NormFloat64()
			if j%3 == y {
				x += 1.5
			}
			data.Dense(s.Features).Set(i, j, x)
			s.Logits.Set(i, j%3, s.Logits.At(i, j%3)+3*x)
		}
	}
	return s
}

// region is a small random view of an Anchor: 6 rows, 3 classes, 4 slots, 5 codewords.
func region(seed uint64) (*layers.View, []int, layers.Sizes) { return regions(6, seed) }

// regions is such a view of n rows.
func regions(n int, seed uint64) (*layers.View, []int, layers.Sizes) {
	rng := newRand(seed)
	s := layers.Sizes{Classes: 3, Features: 8, Slots: 4, Codewords: 5, Counts: []float64{float64(n - n/2), float64(n/2 - n/6), float64(n / 6)}}
	v := &layers.View{LogProbs: layers.LogSoftmax(mat.NewDense(n, 3, graph.Normals(3*n, 0, 2, rng)))}
	labels := make([]int, n)
	for i := range labels {
		labels[i] = rng.IntN(3)
	}
	for range n * s.Slots {
		v.Codes = append(v.Codes, int32(rng.IntN(s.Codewords)))
	}
	v.Inputs = map[string]mat.Matrix{
		logitsInput: mat.NewDense(n, 3, graph.Normals(3*n, 0, 3, rng)), featuresInput: mat.NewDense(n, 8, graph.Normals(8*n, 0, 1, rng)),
	}
	return v, labels, s
}

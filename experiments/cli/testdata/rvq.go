package main

import (
	"cmp"
	"math/rand/v2"

	"calibra/data"
	"calibra/experiments/method"
	"calibra/graph"
	"calibra/graph/op"
	"calibra/layers"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// mine is vq on residual codes.
var mine = method.Method{
	Name: "mine", Line: "vq on residual codes", Needs: []string{"features"}, StopsEarly: true,
	New: func(o *method.Options) layers.Stateful {
		k := o.Int("codebook.codewords", 64, 1, "64", "codewords of a level")
		divide := o.DivideBy(RVQ{layers.KMeans{Codewords: k}, o.Int("rvq.levels", 3, 1, "", "levels L")})
		return layers.Train(divide, layers.Bilinear{}, o.Stage("calibrate", method.Published))
	},
}

// RVQ has L levels of K codewords: s_l = argmin_k ‖r_l − c_lk‖², r_l+1 = r_l − c_l,s_l from r_1 = z. So z ≈ Σ_l
// c_l,s_l.
type RVQ struct {
	layers.KMeans
	L int
}

func (c RVQ) Over(cal *data.Set, slots int) (layers.Sizes, error) {
	s, err := c.KMeans.Over(cal, slots)
	s.Each, s.Codewords, s.Share = c.L, c.L*s.Codewords, float64(c.L)
	return s, err
}

func (c RVQ) Init(w *graph.Weights, cal *data.Set, s layers.Sizes, rng *rand.Rand) (err error) {
	r, d, words := mat.DenseCopyOf(cal.Features), s.Features/s.Slots, []float64{}
	for s.Codewords /= c.L; len(words) < c.L*s.Codewords*d && err == nil; { // level by level
		level := graph.NewWeights(tensor.Float64)
		err = c.KMeans.Init(level, &data.Set{Features: r}, s, rng)
		codes, failed := op.Nearest().Do(graph.Matrix(tensor.Float64, r), level.Tensor("codebook/codewords"))
		q, undone := op.Gather().Do(level.Tensor("codebook/codewords"), codes)
		err, words = cmp.Or(err, failed, undone), append(words, level.Float64s("codebook/codewords")...)
		r.Sub(r, mat.NewDense(cal.Len(), s.Features, q.(*tensor.Dense).Float64s()))
	}
	w.AddState("codebook/codewords", words, len(words)/d, d)
	return err
}

func (c RVQ) Assign(b *graph.Builder, z *gorgonia.Node, s layers.Sizes) (a layers.Assignment) {
	words, codes, k := b.Weight("codebook/codewords"), gorgonia.Nodes{}, s.Codewords/s.Each
	for l := range s.Each {
		codes = append(codes, b.Apply(op.NearestIn(l*k, (l+1)*k), z, words))
		z = b.Plus(z, b.Apply(op.Scale(2, -1), b.Apply(op.Gather(), words, codes[l])))
	}
	a.Codes = b.Apply(op.Interleave(s.Each), codes...)
	return a
}

func (c RVQ) Twin() layers.Codes { return c } // its codewords never move

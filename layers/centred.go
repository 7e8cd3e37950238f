package layers

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"calibra/graph"
	"calibra/graph/op"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Centred is the family of [Bilinear] in coordinates for which one learning rate serves
// every number of classes and slots:
//
//	A(V) = Σ_k n_k(V) a_k b_kᵀ ,  a_k = a₀ + ρ u_k ,  b_k = a₀ + ρ v_k
//	a₀ = √(softplus⁻¹(1)/w) ,  ρ = 80/(C√w)
//
// A step δ on receivers and senders moves A by about 2√(.54 w)·δ, and a score by a sum of
// C such terms. Adam's steps are of one length whatever the gradient, so with the
// published rate of 1e-3 they are right for C = 10 and w = 64, where ρ = 1, and ten times
// too long for C = 100: the fit then leaves its start, the identity, for something worse.
// Here the same step moves scores equally for any C and w, and weight decay draws the map
// to the identity, not to α = softplus(0).
//
// Weights: centred/receiver (u) and centred/sender (v), K×C each, and the prior's.
type Centred struct {
	Prior Prior // log π; nil: LearnedPrior{}
}

var _ Map = Centred{}

func (m Centred) prior() Prior { return cmp.Or[Prior](m.Prior, LearnedPrior{}) }

// Init draws ρ u and ρ v from N(0, 1e-5²), as Bilinear draws what it adds to a₀.
func (m Centred) Init(s Sizes, rng *rand.Rand) (*graph.Weights, error) {
	if err := requireRegions("centred", s); err != nil {
		return nil, err
	}
	w, n, spread := graph.NewWeights(tensor.Float64), s.Codewords*s.Classes, 1e-5/stepScale(s.Classes, s.Whole())
	w.Add("centred/receiver", graph.Normals(n, 0, spread, rng), s.Codewords, s.Classes)
	w.Add("centred/sender", graph.Normals(n, 0, spread, rng), s.Codewords, s.Classes)
	m.prior().Init(w, "centred", s, rng)
	return w, nil
}

// stepScale is ρ.
func stepScale(classes int, whole float64) float64 {
	return 80 / (float64(classes) * math.Sqrt(whole))
}

// LogProbs describes the calibrated posterior of a batch.
func (m Centred) LogProbs(b *graph.Builder, in Batch) *gorgonia.Node {
	c, whole := b.Dim(in.LogProbs, 1), in.Whole()
	start := slices.Repeat([]float64{math.Sqrt(Softplus{}.Start() / whole)}, c)
	identity := b.Table("centred/start", graph.Tensor(b.Dtype(), start, c))
	factor := func(name string) *gorgonia.Node {
		moved := b.Apply(op.Scale(2, stepScale(c, whole)), b.Weight(name))
		return b.AddRow(moved, identity)
	}
	receiver, sender := factor("centred/receiver"), factor("centred/sender")
	return b.LogSoftmax(RegionScores(b, in, b.Apply(op.Outer(), receiver, sender), m.prior(), "centred"))
}

package layers

import (
	"math/rand/v2"

	"calibra/graph"
	"calibra/graph/op"

	"gorgonia.org/gorgonia"
)

// Pooled is [Bilinear] for many classes: each row treats separately the m classes T that p̂ ranks
// first, and the others, R, as one class of which only the mass counts. With
// p̃ = (p̂_i, i ∈ T; Σ_{i∈R} p̂_i) and G(j) = j in T, else R,
//
//	posterior_j ∝ π_j p̂_j Dir(p̃; α_·G(j))
//
// where α_iG is as in Bilinear, of the mean receivers and senders of R, and the row of R
// stands for C − m classes: the concentrations of a Dirichlet vector's parts add up. See
// [op.PooledScores] for the formula. Every class of T is calibrated as before; those of R
// keep their order and, but for π, the proportions of p̂, and their mass is calibrated as one.
//
// A row costs K·m² + C in place of K·C². With m ≥ C it is Bilinear, with m = C − 1 the same
// but for rounding. Weights are those of Bilinear.
type Pooled struct {
	Scale   SlotScale // σ²; nil: UnitScale{}
	Prior   Prior     // log π; nil: LearnedPrior{}
	Classes int       // m; 0: C
}

var _ Map = Pooled{}

func (m Pooled) bilinear() Bilinear { return Bilinear{m.Scale, m.Prior}.withDefaults() }

// Init starts as Bilinear does.
func (m Pooled) Init(s Sizes, rng *rand.Rand) (*graph.Weights, error) {
	return m.bilinear().Init(s, rng)
}

// LogProbs describes the calibrated posterior of a batch.
func (m Pooled) LogProbs(b *graph.Builder, in Batch) *gorgonia.Node {
	return b.LogSoftmax(m.scores(b, in))
}

// scores describes log π_j + log p̂_j + log Dir(p̃; α_·G(j)), but for terms that all classes
// of a row share (B×C).
func (m Pooled) scores(b *graph.Builder, in Batch) *gorgonia.Node {
	receiver, sender := b.Weight("bilinear/receiver"), b.Weight("bilinear/sender") // K×C, K×C
	of := m.bilinear()
	if takesAll(b, m.Classes, receiver) {
		return of.scores(b, in)
	}
	mass := of.Scale.Mass(b, "bilinear", in, b.Dim(receiver, 0)) // B×K
	return of.Prior.Add(b, "bilinear", pooledScores(b, in, mass, receiver, sender, m.Classes), in)
}

// takesAll reports whether a map of m classes is that of all, by its receivers (K×C).
func takesAll(b *graph.Builder, m int, receiver *gorgonia.Node) bool {
	return m == 0 || m >= b.Dim(receiver, 1)
}

// pooledScores describes the scores less the prior of the m classes that p̂ ranks first and
// the others as one (B×C).
func pooledScores(b *graph.Builder, in Batch, mass, receiver, sender *gorgonia.Node, m int) *gorgonia.Node {
	top := b.Apply(op.Top(m), in.Mask(b, in.LogProbs)) // B×m
	return b.Apply(op.PooledScores(1), mass, receiver, sender, in.LogProbs, top)
}

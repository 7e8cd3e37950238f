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

// Bilinear is the paper's calibrator (section 3.2, equation 2): each codeword k has
// a receiver a_k and a sender b_k in R^C, and a region V = (s(1), …, s(w)) the
// Dirichlet concentrations
//
//	α(V) = φ(Σ_i σ_i² a_s(i) b_s(i)ᵀ) + ε
//
// The package documentation derives the posterior from them. Weights:
// bilinear/receiver and bilinear/sender (K×C each), and the weights of Scale and Prior.
//
// The zero value has the settings of the published results: σ² = 1, a learned
// prior, φ = softplus, the identity added to the linear term.
type Bilinear struct {
	Scale    SlotScale    // σ²; nil: UnitScale{}
	Prior    Prior        // log π; nil: LearnedPrior{}
	Link     Link         // φ; nil: Softplus{}
	Identity IdentityTerm // where "+ I" stands
}

var _ Map = Bilinear{}

// Init starts every entry of A and B at √(φ⁻¹(1)/w) + N(0, 1e-5²), so that
// A(V) ≈ φ⁻¹(1) and α ≈ 1: the map of every region starts near the
// identity.
func (m Bilinear) Init(s Sizes, rng *rand.Rand) (*graph.Weights, error) {
	if err := requireRegions("bilinear", s); err != nil {
		return nil, err
	}
	m = m.withDefaults()
	start := factorStart(m.Link, s)
	w := graph.NewWeights(tensor.Float64)
	w.Add("bilinear/receiver", graph.Normals(s.Codewords*s.Classes, start, 1e-5, rng), s.Codewords, s.Classes)
	w.Add("bilinear/sender", graph.Normals(s.Codewords*s.Classes, start, 1e-5, rng), s.Codewords, s.Classes)
	m.Prior.Init(w, "bilinear", s, rng)
	m.Scale.Init(w, "bilinear", s)
	return w, nil
}

// LogProbs describes the calibrated posterior of a batch.
func (m Bilinear) LogProbs(b *graph.Builder, in Batch) *gorgonia.Node {
	return b.LogSoftmax(m.scores(b, in))
}

// scores describes log π_j and [posteriorScores] (B×C).
func (m Bilinear) scores(b *graph.Builder, in Batch) *gorgonia.Node {
	m = m.withDefaults()
	scores := posteriorScores(b, m.Form(b, in), in.LogProbs, m.Link, m.Identity)
	return m.Prior.Add(b, "bilinear", scores, in)
}

// Form describes A(V) = Σ_k n_k(V) a_k b_kᵀ, B×C² with entry i·C+j for predicted
// class i and true class j.
func (m Bilinear) Form(b *graph.Builder, in Batch) *gorgonia.Node {
	m = m.withDefaults()
	receiver, sender := b.Weight("bilinear/receiver"), b.Weight("bilinear/sender") // K×C, K×C
	outer := b.Apply(op.Outer(), receiver, sender)                                 // K×C²
	mass := m.Scale.Mass(b, "bilinear", in, b.Dim(receiver, 0))                    // B×K
	return b.MatMul(mass, outer)                                                   // B×C²
}

// factorStart is √(φ⁻¹(1)/w), at which w products of receivers and senders (Sizes.Whole) make
// every concentration 1; softplus⁻¹(1) = log(e − 1).
func factorStart(link Link, s Sizes) float64 { return math.Sqrt(link.Start() / s.Whole()) }

func (m Bilinear) withDefaults() Bilinear {
	return Bilinear{cmp.Or[SlotScale](m.Scale, UnitScale{}), cmp.Or[Prior](m.Prior, LearnedPrior{}), cmp.Or[Link](m.Link, Softplus{}), m.Identity}
}

// priorOfItsOwn reports whether the weights of a [Bilinear] have others than those of the priors here, such as
// some for each region.
func priorOfItsOwn(w *graph.Weights) bool {
	return slices.ContainsFunc(w.Names(), func(name string) bool {
		return !slices.Contains([]string{"bilinear/receiver", "bilinear/sender", "bilinear/prior", "bilinear/scale"}, name)
	})
}

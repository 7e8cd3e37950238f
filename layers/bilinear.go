package layers

import (
	"fmt"
	"math"
	"math/rand/v2"

	"calibra/graph"
	"calibra/graph/op"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Bilinear is the paper's calibrator (section 3.2, equation 2): each codeword k has
// a receiver a_k and a sender b_k in R^C, and a region V = (s(1), …, s(w)) the
// Dirichlet concentrations
//
//	α(V) = softplus(Σ_i σ_i² a_s(i) b_s(i)ᵀ) + ε
//
// from which the posterior follows as in the package documentation. Weights:
// bilinear/receiver and bilinear/sender (K×C each), and those of Scale and Prior.
//
// The zero value is what the published results were made with: σ² = 1, a learned
// prior, the identity added to the linear term.
type Bilinear struct {
	Scale SlotScale // σ²; nil: UnitScale{}
	Prior Prior     // log π; nil: LearnedPrior{}
}

var _ Map = Bilinear{}

// SlotScale is σ², one number for each slot: [UnitScale] or [LearnedScale].
type SlotScale interface {
	init(w *graph.Weights, s Sizes)
	// mass is the B×K codeword mass Σ_i σ_i² 1[s(i)=k].
	mass(b *graph.Builder, in Batch, codewords int) *gorgonia.Node
}

// Prior is log π, one number for each class: [LearnedPrior], [CountPrior] or
// [UniformPrior].
type Prior interface {
	init(w *graph.Weights, s Sizes, rng *rand.Rand)
	// add adds log π to the scores (B×C).
	add(b *graph.Builder, scores *gorgonia.Node) *gorgonia.Node
}

// Init starts every entry of A and B at √(softplus⁻¹(1)/w) + N(0, 1e-5²), so that
// A(V) ≈ softplus⁻¹(1) and α ≈ 1: the map of every region starts near the
// identity.
func (m Bilinear) Init(s Sizes, rng *rand.Rand) (*graph.Weights, error) {
	if s.Slots == 0 {
		return nil, fmt.Errorf("layers: the bilinear map needs a base that divides the latent space")
	}
	m = m.withDefaults()
	start := math.Sqrt(math.Log(math.E-1) / float64(s.Slots)) // softplus⁻¹(1) = log(e − 1)
	w := graph.NewWeights(tensor.Float64)
	w.Add("bilinear/receiver", graph.Normals(s.Codewords*s.Classes, start, 1e-5, rng), s.Codewords, s.Classes)
	w.Add("bilinear/sender", graph.Normals(s.Codewords*s.Classes, start, 1e-5, rng), s.Codewords, s.Classes)
	m.Prior.init(w, s, rng)
	m.Scale.init(w, s)
	return w, nil
}

// LogProbs describes the calibrated posterior of a batch.
func (m Bilinear) LogProbs(b *graph.Builder, in Batch) *gorgonia.Node {
	return b.LogSoftmax(m.Scores(b, in))
}

// Scores describes log π_j − log B(α_·j) + Σ_i (α_ij − 1 + δ_ij) log p̂_i (B×C).
func (m Bilinear) Scores(b *graph.Builder, in Batch) *gorgonia.Node {
	m = m.withDefaults()
	scores := b.Apply(op.DirichletScores(1), m.Form(b, in), in.LogProbs)
	return m.Prior.add(b, scores)
}

// Form describes A(V) = Σ_k n_k(V) a_k b_kᵀ, B×C² with entry i·C+j for predicted
// class i and true class j.
func (m Bilinear) Form(b *graph.Builder, in Batch) *gorgonia.Node {
	m = m.withDefaults()
	receiver, sender := b.Weight("bilinear/receiver"), b.Weight("bilinear/sender") // K×C, K×C
	if b.Err() != nil {
		return nil
	}
	outer := b.Apply(op.Outer(), receiver, sender)   // K×C²
	mass := m.Scale.mass(b, in, receiver.Shape()[0]) // B×K
	return b.MatMul(mass, outer)                     // B×C²
}

func (m Bilinear) withDefaults() Bilinear {
	if m.Scale == nil {
		m.Scale = UnitScale{}
	}
	if m.Prior == nil {
		m.Prior = LearnedPrior{}
	}
	return m
}

// UnitScale fixes σ² = 1, as the published results do.
type UnitScale struct{}

func (UnitScale) init(*graph.Weights, Sizes) {}

func (UnitScale) mass(_ *graph.Builder, in Batch, _ int) *gorgonia.Node { return in.Mass }

// LearnedScale learns σ² (w, named bilinear/scale) from 1, and nothing holds it above
// 0. Slots then count unequally, and permuted index sequences have different maps.
type LearnedScale struct{}

func (LearnedScale) init(w *graph.Weights, s Sizes) {
	ones := make([]float64, s.Slots)
	for i := range ones {
		ones[i] = 1
	}
	w.Add("bilinear/scale", ones, s.Slots)
}

func (LearnedScale) mass(b *graph.Builder, in Batch, codewords int) *gorgonia.Node {
	return b.Apply(op.Mass(codewords), in.Codes, b.Weight("bilinear/scale"))
}

// LearnedPrior learns log π = log-softmax of C logits (bilinear/prior) started at
// N(0, 0.01²).
type LearnedPrior struct{}

func (LearnedPrior) init(w *graph.Weights, s Sizes, rng *rand.Rand) {
	w.Add("bilinear/prior", graph.Normals(s.Classes, 0, 0.01, rng), s.Classes)
}

func (LearnedPrior) add(b *graph.Builder, scores *gorgonia.Node) *gorgonia.Node {
	return b.AddRow(scores, b.Apply(op.LogSoftmaxVector(), b.Weight("bilinear/prior")))
}

// CountPrior fixes π to the class frequencies of the calibration rows, with one
// row added to each class so that an absent class keeps a chance.
type CountPrior struct{}

func (CountPrior) init(w *graph.Weights, s Sizes, _ *rand.Rand) {
	total := float64(len(s.Counts))
	for _, n := range s.Counts {
		total += float64(n)
	}
	logPrior := make([]float64, len(s.Counts))
	for j, n := range s.Counts {
		logPrior[j] = math.Log(float64(n+1) / total)
	}
	w.AddState("bilinear/prior", logPrior, s.Classes)
}

func (CountPrior) add(b *graph.Builder, scores *gorgonia.Node) *gorgonia.Node {
	return b.AddRow(scores, b.Weight("bilinear/prior"))
}

// UniformPrior fixes π_j = 1/C.
type UniformPrior struct{}

func (UniformPrior) init(w *graph.Weights, s Sizes, _ *rand.Rand) {
	logPrior := make([]float64, s.Classes)
	for j := range logPrior {
		logPrior[j] = -math.Log(float64(s.Classes))
	}
	w.AddState("bilinear/prior", logPrior, s.Classes)
}

func (UniformPrior) add(b *graph.Builder, scores *gorgonia.Node) *gorgonia.Node {
	return CountPrior{}.add(b, scores)
}

package layers

import (
	"fmt"
	"math"
	"math/rand/v2"

	"calibra/graph"
	"calibra/graph/op"

	"gorgonia.org/gorgonia"
)

// AnchoredHead is [AnchoredDirichlet] whose corrections know that near codewords are
// corrected alike:
//
//	posterior = softmax(log p̂ W + b + Σ_i h_i,s(i))
//	h_ik = φ V_iᵀ ĉ_ik / √M + σ u_ik / √w ,  V_i, u_ik ~ N(0, 1)
//
// with ĉ_ik codeword k standardized by the features of slot i (d) and V_i d×C. The
// linear part is a head on the quantized features, the paper's first stage, added to
// the original logits and not put in their place; u is what it leaves. Convex in all
// its weights.
//
// Weights: those of AnchoredDirichlet, anchored_head/weight (M×C, V) and the state
// anchored_head/spread (1, φ).
type AnchoredHead struct{}

var _ Hierarchical = AnchoredHead{}

// Init starts at t = 1 and zeros.
func (AnchoredHead) Init(s Sizes, rng *rand.Rand) (*graph.Weights, error) {
	w, err := AnchoredDirichlet{}.Init(s, rng)
	if err != nil {
		return nil, err
	}
	w.Add("anchored_head/weight", make([]float64, s.Features*s.Classes), s.Features, s.Classes)
	w.AddState("anchored_head/spread", []float64{1}, 1)
	return w, nil
}

// Spreads are ρ, φ and σ.
func (AnchoredHead) Spreads() []Spread {
	linear := AnchoredDirichlet{}.Spreads()
	return []Spread{linear[0], {Name: "anchored_head/spread", Of: []string{"anchored_head/weight"}}, linear[1]}
}

// LogProbs describes the posterior.
func (AnchoredHead) LogProbs(b *graph.Builder, in Batch) *gorgonia.Node {
	if in.Quantized == nil {
		return b.Fail(fmt.Errorf("layers: the anchored head needs a base that gives quantized features"))
	}
	if b.Err() != nil {
		return nil
	}
	head := b.Apply(op.Scale(2, 1/math.Sqrt(float64(in.Quantized.Shape()[1]))), b.MatMul(in.Quantized, b.Weight("anchored_head/weight")))
	smooth := b.Apply(op.Stretch(), head, b.Weight("anchored_head/spread"))
	return b.LogSoftmax(b.Plus(shrunkLinear(b, in), b.Plus(smooth, correction(b, in, "anchored_dirichlet"))))
}

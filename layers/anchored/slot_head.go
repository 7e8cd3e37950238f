package anchored

import (
	"fmt"
	"math"
	"math/rand/v2"

	"calibra/graph"
	"calibra/graph/op"
	"calibra/layers"

	"gorgonia.org/gorgonia"
)

// SlotHead adds a linear head on the quantized features to the scores of a global
// map, not in their place as the paper's first stage does:
//
//	posterior = softmax(scores + Σ_i g_i,s(i)) ,  g_ik = φ ĉ_ik V_i / √M ,  V_i ~ N(0, I)
//
// with ĉ_ik codeword k standardized by the features of slot i (1×d) and V_i d×C: near
// codewords get similar corrections. The loss is convex if On's is.
//
// Weights: those of On, slot_head/weight (M×C, V) and the state slot_head/spread (1, φ).
type SlotHead struct{ On Scored } // nil: Tempered{}

var _ slotwise = SlotHead{}

// Init starts as On does, with zeros.
func (m SlotHead) Init(s layers.Sizes, rng *rand.Rand) (*graph.Weights, error) {
	if s.Slots == 0 {
		return nil, fmt.Errorf("layers: the slot head needs a base that divides the latent space")
	}
	w, err := m.on().Init(s, rng)
	if err != nil {
		return nil, err
	}
	w.Add("slot_head/weight", make([]float64, s.Features*s.Classes), s.Features, s.Classes)
	w.AddState("slot_head/spread", []float64{1}, 1)
	return w, nil
}

// Spread is φ.
func (SlotHead) Spread() Spread { return spreadOf("slot_head", "weight") }

// Coarser is On.
func (m SlotHead) Coarser() layers.Map { return m.on() }

func (m SlotHead) LogProbs(b *graph.Builder, in layers.Batch) *gorgonia.Node {
	return b.LogSoftmax(m.Scores(b, in))
}

// Scores describes the scores of On with the head's.
func (m SlotHead) Scores(b *graph.Builder, in layers.Batch) *gorgonia.Node {
	return slotScores(b, in, m)
}

func (m SlotHead) on() Scored { return orTempered(m.On) }

// table is g.
func (SlotHead) table(b *graph.Builder, in layers.Batch) *gorgonia.Node {
	words, v := in.Input(b, wordsInput), b.Weight("slot_head/weight")
	features := b.Dim(v, 0)
	g := b.Apply(op.BlockMatMul(features/b.Dim(words, 1)), words, v)
	scaled := b.Apply(op.Scale(2, 1/math.Sqrt(float64(features))), g)
	return b.Apply(op.TimesScalar(), scaled, b.Weight("slot_head/spread"))
}

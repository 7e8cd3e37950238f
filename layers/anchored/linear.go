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

// Linear adds a linear map of the standardized features z to the scores of another:
//
//	posterior = softmax(scores + φ z V / √M) ,  V ~ N(0, I)
//
// The loss is convex if On's is. Weights: those of On, linear/weight (M×C, V) and the state linear/spread (1, φ).
type Linear struct{ On Scored } // nil: Tempered{}

var (
	_ Scored       = Linear{}
	_ Hierarchical = Linear{}
)

// Init starts as On does, with zeros.
func (m Linear) Init(s layers.Sizes, rng *rand.Rand) (*graph.Weights, error) {
	if s.Features == 0 {
		return nil, fmt.Errorf("layers: the linear map needs a base with features")
	}
	w, err := orTempered(m.On).Init(s, rng)
	if err != nil {
		return nil, err
	}
	w.Add("linear/weight", make([]float64, s.Features*s.Classes), s.Features, s.Classes)
	w.AddState("linear/spread", []float64{1}, 1)
	return w, nil
}

// Spread is φ.
func (Linear) Spread() Spread { return spreadOf("linear", "weight") }

// Coarser is On.
func (m Linear) Coarser() layers.Map { return orTempered(m.On) }

func (m Linear) LogProbs(b *graph.Builder, in layers.Batch) *gorgonia.Node {
	return b.LogSoftmax(m.Scores(b, in))
}

// Scores describes the scores of On with the linear ones.
func (m Linear) Scores(b *graph.Builder, in layers.Batch) *gorgonia.Node {
	z, v := in.Input(b, featuresInput), b.Weight("linear/weight")
	shift := b.Apply(op.Scale(2, 1/math.Sqrt(float64(b.Dim(v, 0)))), b.MatMul(z, v))
	return b.Plus(orTempered(m.On).Scores(b, in), b.Apply(op.TimesScalar(), shift, b.Weight("linear/spread")))
}

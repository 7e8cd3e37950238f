package anchored

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"

	"calibra/graph"
	"calibra/graph/op"
	"calibra/layers"

	"gorgonia.org/gorgonia"
)

// Tables lets the codewords correct the scores of a global map:
//
//	posterior = softmax(scores + Σ_i h_i,s(i)) ,  h_ik = σ u_ik / √w ,  u_ik ~ N(0, I_C)
//
// σ is how far, in nats, the prior lets a region move a logit; 0 leaves the global
// map. The mean of the likelihood over N_ik rows outweighs the prior as N_ik grows,
// so a codeword is corrected as far as its support allows. The loss is convex if On's is.
//
// Weights: those of On, anchored/correction ((w·K)×C, u) and the state
// anchored/spread (1, σ).
type Tables struct{ On Scored } // nil: Tempered{}

var (
	_ Scored       = Tables{}
	_ Hierarchical = Tables{}
)

// Init starts as On does, with u = 0.
func (m Tables) Init(s layers.Sizes, rng *rand.Rand) (*graph.Weights, error) {
	if s.Slots == 0 {
		return nil, fmt.Errorf("layers: the tables need a base that divides the latent space")
	}
	w, err := m.on().Init(s, rng)
	if err != nil {
		return nil, err
	}
	rows := s.Places()
	w.Add("anchored/correction", make([]float64, rows*s.Classes), rows, s.Classes)
	w.AddState("anchored/spread", []float64{1}, 1)
	return w, nil
}

// Spread is σ.
func (Tables) Spread() Spread { return spreadOf("anchored", "correction") }

// Coarser is On.
func (m Tables) Coarser() layers.Map { return m.on() }

func (m Tables) LogProbs(b *graph.Builder, in layers.Batch) *gorgonia.Node {
	return b.LogSoftmax(m.Scores(b, in))
}

// Scores describes the scores of On with the corrections.
func (m Tables) Scores(b *graph.Builder, in layers.Batch) *gorgonia.Node {
	if in.Codes == nil {
		return b.Fail(fmt.Errorf("layers: a correction by codewords needs a base that divides the latent space"))
	}
	scaled := b.Apply(op.Scale(2, 1/math.Sqrt(in.Whole())), b.Weight("anchored/correction"))
	return b.Plus(m.on().Scores(b, in), in.TableSum(b, b.Apply(op.TimesScalar(), scaled, b.Weight("anchored/spread"))))
}

func (m Tables) on() Scored { return orTempered(m.On) }

func orTempered(m Scored) Scored { return cmp.Or[Scored](m, Tempered{}) }

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

var _ slotwise = Tables{}

// Init starts as On does, with u = 0.
func (m Tables) Init(s layers.Sizes, rng *rand.Rand) (*graph.Weights, error) {
	w, err := m.on().Init(s, rng)
	if err != nil {
		return nil, err
	}
	return w, addCorrection(w, "anchored", s, s.Classes)
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
	return slotScores(b, in, m)
}

func (m Tables) on() Scored { return orTempered(m.On) }

// table is h.
func (Tables) table(b *graph.Builder, in layers.Batch) *gorgonia.Node {
	return correctionTable(b, in, "anchored")
}

// slotwise is a map that adds to the scores of another a row of a table for each slot.
type slotwise interface {
	Scored
	Hierarchical
	on() Scored
	// table describes the (w·K)×C rows.
	table(b *graph.Builder, in layers.Batch) *gorgonia.Node
}

// slotScores describes the scores of m, whose tables down to the global map are added
// before the slots look into them.
func slotScores(b *graph.Builder, in layers.Batch, m slotwise) *gorgonia.Node {
	if in.Codes == nil {
		return b.Fail(fmt.Errorf("layers: a correction by codewords needs a base that divides the latent space"))
	}
	table, on := m.table(b, in), m.on()
	for {
		next, ok := on.(slotwise)
		if !ok {
			return b.Plus(on.Scores(b, in), in.TableSum(b, table))
		}
		table, on = b.Plus(table, next.table(b, in)), next.on()
	}
}

func orTempered(m Scored) Scored { return cmp.Or[Scored](m, Tempered{}) }

// addCorrection adds name/correction, u of width columns for each slot and
// codeword, and name/spread, its σ, started at 0 and 1.
func addCorrection(w *graph.Weights, name string, s layers.Sizes, width int) error {
	if s.Slots == 0 {
		return fmt.Errorf("layers: the %s map needs a base that divides the latent space", name)
	}
	rows := s.Places()
	w.Add(name+"/correction", make([]float64, rows*width), rows, width)
	w.AddState(name+"/spread", []float64{1}, 1)
	return nil
}

// correctionTable describes h_ik = σ u_ik / √w.
func correctionTable(b *graph.Builder, in layers.Batch, name string) *gorgonia.Node {
	scaled := b.Apply(op.Scale(2, 1/math.Sqrt(float64(in.Slots()))), b.Weight(name+"/correction"))
	return b.Apply(op.TimesScalar(), scaled, b.Weight(name+"/spread"))
}

// correction describes Σ_i h_i,s(i).
func correction(b *graph.Builder, in layers.Batch, name string) *gorgonia.Node {
	return in.TableSum(b, correctionTable(b, in, name))
}

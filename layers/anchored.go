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

// Anchored keeps the head's own logits and lets the codewords correct them:
//
//	posterior = softmax(t·log p̂ + Σ_i h_i,s(i)) ,  h_ik = σ u_ik / √w ,  u_ik ~ N(0, I_C)
//
// σ is how far, in nats, the prior lets a region move a logit; 0 leaves one
// temperature for all regions. The mean of the likelihood over N_ik rows outweighs
// the prior as N_ik grows, so a codeword is corrected as far as its support
// allows. In t and u the loss is convex.
//
// Weights: anchored/inverse_temperature (1), anchored/correction ((w·K)×C, u) and
// the state anchored/spread (1, σ).
type Anchored struct{}

var _ Hierarchical = Anchored{}

// Init starts at t = 1 and u = 0.
func (Anchored) Init(s Sizes, _ *rand.Rand) (*graph.Weights, error) {
	w := graph.NewWeights(tensor.Float64)
	w.Add("anchored/inverse_temperature", []float64{1}, 1)
	return w, addCorrection(w, "anchored", s, s.Classes)
}

// Spreads is σ.
func (Anchored) Spreads() []Spread { return []Spread{correctionSpread("anchored")} }

// LogProbs describes the posterior.
func (Anchored) LogProbs(b *graph.Builder, in Batch) *gorgonia.Node {
	global := b.Apply(op.Stretch(), in.LogProbs, b.Weight("anchored/inverse_temperature"))
	return b.LogSoftmax(b.Plus(global, correction(b, in, "anchored")))
}

// addCorrection adds name/correction, u of width columns for each slot and
// codeword, and name/spread, its σ, started at 0 and 1.
func addCorrection(w *graph.Weights, name string, s Sizes, width int) error {
	if s.Slots == 0 {
		return fmt.Errorf("layers: the %s map needs a base that divides the latent space", name)
	}
	rows := s.Slots * s.Codewords
	w.Add(name+"/correction", make([]float64, rows*width), rows, width)
	w.AddState(name+"/spread", []float64{1}, 1)
	return nil
}

// correctionSpread is the σ that addCorrection adds.
func correctionSpread(name string) Spread {
	return Spread{Name: name + "/spread", Of: []string{name + "/correction"}}
}

// correction describes Σ_i h_i,s(i) = σ/√w Σ_i u_i,s(i).
func correction(b *graph.Builder, in Batch, name string) *gorgonia.Node {
	if b.Err() != nil {
		return nil
	}
	sum := b.Apply(op.TableSum(), b.Weight(name+"/correction"), in.Codes)
	scaled := b.Apply(op.Scale(2, 1/math.Sqrt(float64(in.Codes.Shape()[1]))), sum)
	return b.Apply(op.Stretch(), scaled, b.Weight(name+"/spread"))
}

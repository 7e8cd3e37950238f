package layers

import (
	"slices"

	"calibra/graph"
	"calibra/graph/op"

	"gorgonia.org/gorgonia"
)

// SlotScale is σ², one number for each slot. [UnitScale] and [LearnedScale] are two; any
// type with these methods is another. Name is the path of the map that has it, under which
// its weights are.
type SlotScale interface {
	// Init adds its weights, if it has any.
	Init(w *graph.Weights, name string, s Sizes)
	// Mass describes the codeword mass Σ_i σ_i² 1[s(i)=k] (B×K).
	Mass(b *graph.Builder, name string, in Batch, codewords int) *gorgonia.Node
}

// UnitScale fixes σ² = 1, as the published results do.
type UnitScale struct{}

// Init adds nothing.
func (UnitScale) Init(*graph.Weights, string, Sizes) {}

// Mass is how often a row has each codeword.
func (UnitScale) Mass(_ *graph.Builder, _ string, in Batch, _ int) *gorgonia.Node { return in.Mass }

// LearnedScale learns σ² (w, named name/scale) from 1, and nothing holds it above
// 0. Slots then count unequally, and permuted index sequences have different maps.
type LearnedScale struct{}

// Init adds σ² = 1.
func (LearnedScale) Init(w *graph.Weights, name string, s Sizes) {
	w.Add(name+"/scale", slices.Repeat([]float64{1}, s.Slots), s.Slots)
}

// Mass sums σ² by codeword.
func (LearnedScale) Mass(b *graph.Builder, name string, in Batch, codewords int) *gorgonia.Node {
	if in.Shares != nil {
		return b.Apply(op.ShareMass(codewords), in.Codes, in.Shares, b.Weight(name+"/scale"))
	}
	return b.Apply(op.Mass(codewords), in.Codes, b.Weight(name+"/scale"))
}

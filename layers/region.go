package layers

import (
	"fmt"

	"calibra/graph"
	"calibra/graph/op"

	"gorgonia.org/gorgonia"
)

// requireRegions refuses sizes of a base that does not divide the latent space.
func requireRegions(what string, s Sizes) error {
	if s.Slots == 0 {
		return fmt.Errorf("layers: the %s map needs a base that divides the latent space", what)
	}
	return nil
}

// RegionScores describes the scores of a map whose form is A(V) = Σ_k n_k(V) F_k, from the
// table F (K×C², entry i·C+j for predicted class i and true class j): the scores of [Bilinear]
// with any matrix in place of a_k b_kᵀ. The prior's weights are under name.
func RegionScores(b *graph.Builder, in Batch, table *gorgonia.Node, prior Prior, name string) *gorgonia.Node {
	if prior == nil {
		prior = LearnedPrior{}
	}
	form := b.MatMul(in.Mass, table) // B×C²
	return prior.Add(b, name, b.Apply(op.DirichletScores(1), form, in.LogProbs), in)
}

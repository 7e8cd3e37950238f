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
// table F (K×C², entry i·C+j for predicted class i and true class j): those of [Bilinear]
// with any matrix in place of a_k b_kᵀ. The prior's weights are under name.
func RegionScores(b *graph.Builder, in Batch, table *gorgonia.Node, prior Prior, name string) *gorgonia.Node {
	form := b.MatMul(in.Mass, table) // B×C²
	return prior.Add(b, name, b.Apply(op.DirichletScores(1), form, in.LogProbs), in)
}

// dirichletScores describes the scores less the prior of any concentrations α (B×C², entry
// i·C+j), one op for each term, so that α may be any positive function of the weights:
//
//	score_j = log Γ(Σ_i α_ij) − Σ_i log Γ(α_ij) + Σ_i (α_ij − 1 + δ_ij) log p̂_i
//
// For α = softplus(A) + ε the op of that name is the same in one pass.
func dirichletScores(b *graph.Builder, alpha, logProbs *gorgonia.Node) *gorgonia.Node {
	c := b.Dim(logProbs, 1)
	rows, columns := make([]float64, c*c*c), make([]float64, c*c*c)
	for at := range c * c {
		rows[at/c*c*c+at] = 1  // C×C²: entry i·C+j is that of predicted class i
		columns[at*c+at%c] = 1 // C²×C: its sum goes to true class j
	}
	repeat := b.Table("regions/repeat", graph.Tensor(b.Dtype(), rows, c, c*c))
	total := b.Table("regions/total", graph.Tensor(b.Dtype(), columns, c*c, c))
	minus := func(x *gorgonia.Node) *gorgonia.Node { return b.Apply(op.Scale(2, -1), x) }

	each := b.MatMul(logProbs, repeat) // B×C², log p̂_i
	linear := b.MatMul(b.Plus(b.Times(alpha, each), minus(b.Plus(each, b.Apply(op.Lgamma(2), alpha)))), total)
	return b.Plus(b.Plus(linear, b.Apply(op.Lgamma(2), b.MatMul(alpha, total))), logProbs)
}

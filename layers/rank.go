package layers

import (
	"cmp"
	"fmt"
	"math/rand/v2"

	"calibra/graph"
	"calibra/graph/op"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Rank gives each codeword r receivers and senders in place of one,
//
//	A(V) = Σ_k n_k(V) Σ_ρ a_kρ b_kρᵀ ,  ρ = 1 … r
//
// so a single codeword can mend r independent confusions of classes; r = 1 is
// [Bilinear]. Weights: rank/ρ/receiver and rank/ρ/sender (K×C each), and the prior's.
type Rank struct{ Rank int } // r; 0: 2

var _ Map = Rank{}

func (m Rank) rank() int { return cmp.Or(m.Rank, 2) }

func (Rank) factor(rho int, of string) string { return fmt.Sprintf("rank/%d/%s", rho, of) }

// Init starts the first pair as Bilinear does and the others at N(0, 0.01²): near the
// identity, and not at 0, where neither factor of a pair would have a gradient.
func (m Rank) Init(s Sizes, rng *rand.Rand) (*graph.Weights, error) {
	if m.rank() < 1 {
		return nil, &SettingError{fmt.Sprintf("a codeword cannot have %d factors; choose at least 1", m.Rank)}
	}
	if err := requireRegions("rank", s); err != nil {
		return nil, err
	}
	w := graph.NewWeights(tensor.Float64)
	start, spread := factorStart(Softplus{}, s), 1e-5
	for rho := 1; rho <= m.rank(); rho++ {
		for _, of := range []string{"receiver", "sender"} {
			w.Add(m.factor(rho, of), graph.Normals(s.Codewords*s.Classes, start, spread, rng), s.Codewords, s.Classes)
		}
		start, spread = 0, 0.01
	}
	LearnedPrior{}.Init(w, "rank", s, rng)
	return w, nil
}

// LogProbs describes the calibrated posterior of a batch.
func (m Rank) LogProbs(b *graph.Builder, in Batch) *gorgonia.Node {
	var table *gorgonia.Node // K×C²
	for rho := 1; rho <= m.rank(); rho++ {
		outer := b.Apply(op.Outer(), b.Weight(m.factor(rho, "receiver")), b.Weight(m.factor(rho, "sender")))
		if rho == 1 {
			table = outer
		} else {
			table = b.Plus(table, outer)
		}
	}
	return b.LogSoftmax(RegionScores(b, in, table, LearnedPrior{}, "rank"))
}

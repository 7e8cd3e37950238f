package layers

import (
	"math"
	"math/rand/v2"
	"slices"

	"calibra/graph"
	"calibra/graph/op"

	"gorgonia.org/gorgonia"
)

// Squareplus is [Bilinear] with another way from the form to concentrations (Barron
// 2021):
//
//	α = (A + √(A² + β))/2 + ε ,  β = 4(1 − softplus⁻¹(1))
//
// It is an algebraic softplus: for large A it is A, but it falls to 0 as β/(4|A|) and not
// exponentially, so a concentration that has become small still has a slope to grow by.
// β makes it 1 where softplus is, so the map starts as Bilinear does. Weights are those of
// Bilinear.
type Squareplus struct {
	Scale SlotScale // σ²; nil: UnitScale{}
	Prior Prior     // log π; nil: LearnedPrior{}
}

var _ Map = Squareplus{}

func (m Squareplus) bilinear() Bilinear { return Bilinear(m).withDefaults() }

// Init starts as Bilinear does.
func (m Squareplus) Init(s Sizes, rng *rand.Rand) (*graph.Weights, error) {
	return m.bilinear().Init(s, rng)
}

// LogProbs describes the calibrated posterior of a batch.
func (m Squareplus) LogProbs(b *graph.Builder, in Batch) *gorgonia.Node {
	of := m.bilinear()
	scores := dirichletScores(b, squareplus(b, of.Form(b, in)), in.LogProbs)
	return b.LogSoftmax(of.Prior.Add(b, "bilinear", scores, in))
}

// squareplus describes (x + √(x² + β))/2 + ε of each element, √y being e^(½ log y).
func squareplus(b *graph.Builder, x *gorgonia.Node) *gorgonia.Node {
	beta := 4 * (1 - math.Log(math.E-1))
	constant := func(name string, v float64) *gorgonia.Node { // of every column of x
		row := slices.Repeat([]float64{v}, b.Dim(x, 1))
		return b.Table("squareplus/"+name, graph.Tensor(b.Dtype(), row, len(row)))
	}
	log := b.Apply(op.FlooredLog(2, beta/2), b.AddRow(b.Times(x, x), constant("beta", beta)))
	root := b.Apply(op.Exp(2), b.Apply(op.Scale(2, 0.5), log))
	return b.AddRow(b.Apply(op.Scale(2, 0.5), b.Plus(x, root)), constant("floor", op.AlphaFloor))
}

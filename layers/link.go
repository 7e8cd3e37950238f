package layers

import (
	"math"
	"slices"

	"calibra/graph"
	"calibra/graph/op"

	"gorgonia.org/gorgonia"
)

// Link is φ of a [Bilinear], which makes concentrations of its form: α = φ(A) + ε, ε = 1e-8. [Softplus] and
// [Exponential] are two; any type with these methods is another.
type Link interface {
	// Start is x > 0 with φ(x) = 1, where fits begin.
	Start() float64
	// Of describes φ(A), of the shape of A (B×C²), from ops of package op.
	Of(b *graph.Builder, form *gorgonia.Node) *gorgonia.Node
}

// Softplus is φ(x) = log(1 + eˣ), the paper's.
type Softplus struct{}

var _ Link = Softplus{}

// Start is log(e − 1).
func (Softplus) Start() float64 { return math.Log(math.E - 1) }

// Of is one op.
func (Softplus) Of(b *graph.Builder, form *gorgonia.Node) *gorgonia.Node {
	return b.Apply(op.Softplus(2), form)
}

// Exponential is φ(x) = exp(x − 1). It is 1 at 1 and not at 0, where no factor would have a gradient.
type Exponential struct{}

var _ Link = Exponential{}

// Start is 1.
func (Exponential) Start() float64 { return 1 }

// Of is exp(A − 1).
func (Exponential) Of(b *graph.Builder, form *gorgonia.Node) *gorgonia.Node {
	n := b.Dim(form, 1)
	below := graph.Tensor(b.Dtype(), slices.Repeat([]float64{-1}, n), n)
	return b.Apply(op.Exp(2), b.AddRow(form, b.Table("link/exponential", below)))
}

// IdentityTerm says where the paper's "+ I" stands.
type IdentityTerm string

const (
	InLinearTerm    IdentityTerm = ""      // δ_ij beside α_ij − 1, as in the published code
	InConcentration IdentityTerm = "alpha" // α + δ in place of α, in log B too, as in the paper's text
	Nowhere         IdentityTerm = "nowhere"
)

// posteriorScores describes log-likelihoods of the true classes j under the Dirichlet laws of a form A (B×C²), in B×C:
//
//	−log B(α_·j) + Σ_i (α_ij − 1 + δ_ij) log p̂_i ,   α = φ(A) + ε   (or φ(A) + ε + δ, and no δ beside it)
//
// of φ = Softplus by one fused op, of others by an op for each term.
func posteriorScores(b *graph.Builder, form, logp *gorgonia.Node, link Link, plus IdentityTerm) *gorgonia.Node {
	_, soft := link.(Softplus)
	switch {
	case soft && plus == InLinearTerm:
		return b.Apply(op.DirichletScores(1), form, logp)
	case soft && plus == Nowhere:
		return b.Apply(op.DirichletScores(0), form, logp)
	}
	return termScores(b, form, logp, link, plus)
}

// termScores are posteriorScores by an op for each term.
func termScores(b *graph.Builder, form, logp *gorgonia.Node, link Link, plus IdentityTerm) *gorgonia.Node {
	c := b.Dim(logp, 1)
	repeat, columns := make([]float64, c*c*c), make([]float64, c*c*c)
	toAlpha, toExponent := slices.Repeat([]float64{op.AlphaFloor}, c*c), slices.Repeat([]float64{-1}, c*c)
	for i := range c {
		switch plus {
		case InConcentration:
			toAlpha[i*c+i]++
		case InLinearTerm:
			toExponent[i*c+i]++
		}
		for j := range c {
			repeat[i*c*c+i*c+j] = 1  // C×C²: log p̂_i beside each α_ij
			columns[(i*c+j)*c+j] = 1 // C²×C: Σ_i of the entries i·C+j
		}
	}
	table := func(name string, values []float64, shape ...int) *gorgonia.Node {
		return b.Table("link/"+name, graph.Tensor(b.Dtype(), values, shape...))
	}
	minus := func(x *gorgonia.Node) *gorgonia.Node { return b.Apply(op.Scale(2, -1), x) }
	sum := table("columns", columns, c*c, c)
	alpha := b.AddRow(link.Of(b, form), table("alpha", toAlpha, c*c))
	exponent := b.AddRow(alpha, table("exponent", toExponent, c*c))
	linear := b.MatMul(b.Times(exponent, b.MatMul(logp, table("repeat", repeat, c, c*c))), sum)
	gammas := b.MatMul(b.Apply(op.Lgamma(2), alpha), sum)
	return b.Plus(b.Plus(linear, minus(gammas)), b.Apply(op.Lgamma(2), b.MatMul(alpha, sum)))
}

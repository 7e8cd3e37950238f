package op

import (
	"math"

	"calibra/graph/simd"
	"calibra/graph/work"

	"gorgonia.org/gorgonia"
)

// AlphaFloor keeps concentrations positive: α = softplus(A) + AlphaFloor.
const AlphaFloor = 1e-8

// DirichletScores turns bilinear forms A (B×C², entry i·C+j for predicted class i
// and true class j) and log p̂ (B×C) into the class scores of Proposition 2 less
// the prior (B×C):
//
//	α = softplus(A) + ε
//	score_j = −log B(α_·j) + Σ_i (α_ij − 1 + δ·1[i=j]) log p̂_i
//	log B(α_·j) = Σ_i log Γ(α_ij) − log Γ(Σ_i α_ij)
//
// δ = 1 adds the identity to the linear term, and only there, as the published
// results do; δ = 0 is the proposition as printed.
func DirichletScores(delta float64) Op { return Op{DirichletOp{Delta: delta}} }

// DirichletOp is the op of [DirichletScores].
type DirichletOp struct{ Delta float64 }

func (DirichletOp) Form() string                { return "B C*C, B C -> B C by B" }
func (o DirichletOp) Run(out Value, in []Value) { Dispatch(o, out, in, scores32, scores64) }

func scores32(o DirichletOp, v Args[float32]) {
	runBatch(dirichletBatch{of: scoresOnly, score: v.Out(), a: v.In(0), logp: v.In(1), c: v.Columns(1), delta: float32(o.Delta)})
}

func scores64(o DirichletOp, v Args[float64]) {
	score, a, logp, c := v.Out(), v.In(0), v.In(1), v.Columns(1)
	work.Ranges(len(logp)/c, blockRows(c), func(lo, hi int) {
		dirichletScores(score[lo*c:hi*c], a[lo*c*c:hi*c*c], logp[lo*c:hi*c], c, o.Delta)
	})
}

// dirichletScores is the form in float64, which package simd is tested against. Sums are over i in turn.
func dirichletScores[F Float](score, a, logp []F, c int, delta float64) {
	terms := newDirichletTerms(c)
	sum, linear := make([]float64, c), make([]float64, c)
	for b := 0; b < len(score); b += c {
		if setForm(terms, a[b*c:][:c*c]) {
			simd.SoftplusPlus64(terms.alpha, terms.a, AlphaFloor)
			simd.Lgamma64(terms.logGamma, terms.alpha)
			clear(terms.sum)
			clear(terms.logB)
			for i := 0; i < c*c; i += c {
				logGamma := terms.logGamma[i:][:c]
				for j, alpha := range terms.alpha[i:][:c] {
					terms.sum[j] += alpha
					terms.logB[j] += logGamma[j]
				}
			}
			simd.Lgamma64(sum, terms.sum)
			for j, v := range sum {
				terms.logB[j] -= v
			}
		}
		clear(linear)
		for i, l := range logp[b:][:c] {
			for j, alpha := range terms.alpha[i*c:][:c] {
				linear[j] += (alpha - 1) * float64(l)
			}
		}
		for j, v := range linear {
			score[b+j] = F(v + delta*float64(logp[b+j]) - terms.logB[j])
		}
	}
}

// dirichletTerms are what scores and gradients need of one matrix A (C×C). Rows of one
// region have the same A and often follow one another: it is worked out once for them.
type dirichletTerms struct {
	a, alpha, sigma, logGamma, psi []float64
	sum, logB                      []float64 // C, of the columns of α
}

func newDirichletTerms(c int) *dirichletTerms {
	x := make([]float64, 3*c*c)
	part := func(i int) []float64 { return x[i*c*c:][:c*c] }
	x[0] = math.NaN() // no A yet
	return &dirichletTerms{a: part(0), alpha: part(1), logGamma: part(2), sum: make([]float64, c), logB: make([]float64, c)}
}

// setForm takes a for A, and is true if it is another than before.
func setForm[F Float](t *dirichletTerms, a []F) bool {
	same := true
	for i, v := range a {
		same = same && t.a[i] == float64(v)
		t.a[i] = float64(v)
	}
	return !same
}

func (o DirichletOp) Grad(in Nodes, _, g *Node) Nodes {
	return Nodes{Op{DirichletByFormOp{}}.Of(in[0], in[1], g), Op{DirichletByInputOp(o)}.Of(in[0], g)}
}

// DirichletByFormOp is ∂L/∂A_ij = g_j (log p̂_i − ψ(α_ij) + ψ(Σ_l α_lj)) · sigmoid(A_ij).
type DirichletByFormOp struct{}

func (DirichletByFormOp) Form() string                { return "B C*C, B C, B C -> B C*C by B" }
func (o DirichletByFormOp) Run(out Value, in []Value) { Dispatch(o, out, in, gradients32, gradients64) }

func gradients32(_ DirichletByFormOp, v Args[float32]) {
	runBatch(dirichletBatch{of: gradientsOnly, da: v.Out(), a: v.In(0), logp: v.In(1), g: v.In(2), c: v.Columns(1)})
}

func gradients64(_ DirichletByFormOp, v Args[float64]) {
	dirichletGradients(v.Out(), v.In(0), v.In(1), v.In(2), v.Columns(1))
}

func dirichletGradients[F Float](da, a, logp, g []F, c int) {
	terms := newDirichletTerms(c)
	terms.sigma, terms.psi = make([]float64, c*c), make([]float64, c*c)
	for at := range g {
		b, j := at/c, at%c
		if j == 0 && setForm(terms, a[b*c*c:][:c*c]) {
			simd.DirichletTerms64(terms.alpha, terms.sigma, terms.logGamma, terms.psi, terms.a, AlphaFloor)
		}
		var sum float64
		for i := range c {
			sum += terms.alpha[i*c+j]
		}
		psi := simd.Digamma64(sum)
		for i := range c {
			gradient := float64(logp[b*c+i]) - terms.psi[i*c+j] + psi
			da[(b*c+i)*c+j] = F(float64(g[at]) * gradient * terms.sigma[i*c+j])
		}
	}
}

// DirichletByInputOp is ∂L/∂log p̂_i = Σ_j g_j (α_ij − 1 + δ·1[i=j]).
type DirichletByInputOp struct{ Delta float64 }

func (DirichletByInputOp) Form() string { return "B C*C, B C -> B C by B" }
func (o DirichletByInputOp) Run(out Value, in []Value) {
	Dispatch(o, out, in, dirichletWeights, dirichletWeights)
}

func dirichletWeights[F Float](o DirichletByInputOp, v Args[F]) {
	dlogp, a, g, c := v.Out(), v.In(0), v.In(1), v.Columns(1)
	for r := range dlogp {
		b := r / c
		sum := o.Delta * float64(g[r])
		for j := range c {
			alpha := simd.Softplus64(float64(a[r*c+j])) + AlphaFloor
			sum += float64(g[b*c+j]) * (alpha - 1)
		}
		dlogp[r] = F(sum)
	}
}

// dirichletBatch is work on a float32 batch, cut into blocks of rows for the cores.
type dirichletBatch struct {
	of                    func(d *dirichletBatch, rows, matrices span)
	score, da, a, logp, g []float32
	c                     int
	delta                 float32
}

// span is the part lo … hi−1 of an array.
type span struct{ lo, hi int }

func (s span) of(x []float32) []float32 { return x[s.lo:s.hi] }

func scoresOnly(d *dirichletBatch, rows, matrices span) {
	simd.DirichletScores(rows.of(d.score), matrices.of(d.a), rows.of(d.logp), d.c, d.delta, AlphaFloor)
}

func gradientsOnly(d *dirichletBatch, rows, matrices span) {
	simd.DirichletGradient(matrices.of(d.da), matrices.of(d.a), rows.of(d.logp), rows.of(d.g), d.c, AlphaFloor)
}

// blockRows makes a block of some 8,192 elements of A worth handing to a core.
func blockRows(c int) int { return 1 + 8192/(c*c) }

func (d *dirichletBatch) Block(i int) {
	c := d.c
	lo := i * blockRows(c)
	hi := min(lo+blockRows(c), len(d.logp)/c)
	d.of(d, span{lo * c, hi * c}, span{lo * c * c, hi * c * c})
}

func runBatch(d dirichletBatch) {
	rows := len(d.logp) / d.c
	dirichletBatches.Run((rows+blockRows(d.c)-1)/blockRows(d.c), d)
}

var dirichletBatches work.Jobs[dirichletBatch, *dirichletBatch]

// Pair lets a step of a program and a later one that starts from the same inputs share
// what both compute, if they are a pair that can: first then uses the memory of later's
// result, which nobody has read yet. [DirichletScores] and its gradient by A are one: the
// scores' step leaves there the gradients for g = 1, and only g is left to multiply by.
func Pair(first, later gorgonia.Op, result gorgonia.Value) (gorgonia.Op, gorgonia.Op, bool) {
	a, oursA := first.(Op)
	b, oursB := later.(Op)
	if !oursA || !oursB {
		return nil, nil, false
	}
	scores, isScores := a.Kernel.(DirichletOp)
	_, isGradients := b.Kernel.(DirichletByFormOp)
	if !isScores || !isGradients || !IsFloat32(result) {
		return nil, nil, false
	}
	return Op{DirichletWithGradientOp{scores, result}}, Op{DirichletTimesGOp{}}, true
}

// DirichletWithGradientOp is dirichlet that also sets gradients to those for g = 1.
type DirichletWithGradientOp struct {
	DirichletOp
	gradients gorgonia.Value
}

func (o DirichletWithGradientOp) Run(out Value, in []Value) {
	v := Args[float32]{out, in}
	runBatch(dirichletBatch{
		of: scoresAndGradients, score: v.Out(), da: v.alongside(o.gradients),
		a: v.In(0), logp: v.In(1), c: v.Columns(1), delta: float32(o.Delta),
	})
}

// DirichletTimesGOp is dirichletByForm of gradients for g = 1 that are there already.
type DirichletTimesGOp struct{ DirichletByFormOp }

func (DirichletTimesGOp) Run(out Value, in []Value) {
	v := Args[float32]{out, in}
	runBatch(dirichletBatch{of: timesG, da: v.Out(), logp: v.In(1), g: v.In(2), c: v.Columns(1)})
}

func scoresAndGradients(d *dirichletBatch, rows, matrices span) {
	simd.DirichletScoresAndGradient(rows.of(d.score), matrices.of(d.da), matrices.of(d.a), rows.of(d.logp), d.c, d.delta, AlphaFloor)
}

func timesG(d *dirichletBatch, rows, matrices span) {
	simd.ScaleColumns(matrices.of(d.da), rows.of(d.g), d.c)
}

package op

import (
	"calibra/graph/simd"
	"calibra/graph/work"

	"gonum.org/v1/gonum/blas"
)

// The form A = N·F of a batch, N the codeword masses (B×K) and F the table of outer products
// (K×C²), has B·C² entries: half a gigabyte for 128 rows of a thousand classes. Beyond
// largestForm entries [FuseHere] has scores and gradients made of N and F directly, some rows of all
// B matrices at a time. Each entry is the same sum as before, and so are the scores in
// float32, to the bit.

// largestForm is the most entries of A that stand in memory at once, and formPart about how
// many do where they would be more.
const (
	largestForm = 1 << 25
	formPart    = 1 << 20
)

// fuseProduct is [FuseHere] for the scores and gradients of a product; nil where there is nothing to
// fuse.
func fuseProduct(k Kernel, inputs []*Node) (Kernel, []*Node) {
	switch k := k.(type) {
	case DirichletOp:
		if mass, table, ok := largeProduct(inputs[0]); ok {
			return scoresOfProductOp(k), []*Node{mass, table, inputs[1]}
		}
	case DirichletByInputOp:
		if mass, table, ok := largeProduct(inputs[0]); ok {
			return productByInputOp(k), []*Node{mass, table, inputs[1]}
		}
	case MatMulOp: // Nᵀ·∂A and ∂A·Fᵀ
		if k == (MatMulOp{blas.Trans, blas.NoTrans}) {
			if in, ok := largeGradients(inputs[1]); ok && in[0] == inputs[0] {
				return productByTableOp{}, in
			}
		}
		if k == (MatMulOp{blas.NoTrans, blas.Trans}) {
			if in, ok := largeGradients(inputs[0]); ok && in[1] == inputs[1] {
				return productByMassOp{}, in
			}
		}
	}
	return nil, nil
}

// largeProduct reports whether A is a product that is better not made, and of what.
func largeProduct(a *Node) (mass, table *Node, ok bool) {
	o, ours := a.Op().(Op)
	if !ours || o.Kernel != Kernel(MatMulOp{blas.NoTrans, blas.NoTrans}) || a.Shape().TotalSize() <= largestForm {
		return nil, nil, false
	}
	in := InputsOf(a)
	return in[0], in[1], true
}

// largeGradients reports whether n is the gradients by such a product, and gives N, F, log p̂ and g.
func largeGradients(n *Node) ([]*Node, bool) {
	o, ours := n.Op().(Op)
	if !ours || o.Kernel != Kernel(DirichletByFormOp{}) {
		return nil, false
	}
	in := InputsOf(n)
	mass, table, ok := largeProduct(in[0])
	return []*Node{mass, table, in[1], in[2]}, ok
}

// scoresOfProductOp is [DirichletScores] of N·F, from N (B×K), F (K×C²) and log p̂ (B×C).
type scoresOfProductOp struct{ Delta float64 }

func (scoresOfProductOp) Form() string { return "B K, K C*C, B C -> B C" }
func (o scoresOfProductOp) Run(out Value, in []Value) {
	Dispatch(o, out, in, scoresOfProduct, scoresOfProduct)
}

func scoresOfProduct[F Float](o scoresOfProductOp, v Args[F]) {
	score, p, delta := v.Out(), newMassProduct(v), F(o.Delta)
	c, sum := p.c, make([]F, len(score))
	clear(score)
	p.each(func(b, i, rows int, a []F) {
		addScores(sum[b*c:(b+1)*c], score[b*c:(b+1)*c], a, p.logp[b*c+i:][:rows])
	})
	work.Ranges(len(score)/c, rowBlock, func(lo, hi int) {
		endScores(score[lo*c:hi*c], sum[lo*c:hi*c], p.logp[lo*c:hi*c], delta)
	})
}

// productByTableOp is Nᵀ·∂A (K×C²), from N, F, log p̂ and g (B×C), ∂A as [DirichletByFormOp] has it.
type productByTableOp struct{}

func (productByTableOp) Form() string { return "B K, K C*C, B C, B C -> K C*C" }
func (o productByTableOp) Run(out Value, in []Value) {
	Dispatch(o, out, in, productByTable, productByTable)
}

func productByTable[F Float](_ productByTableOp, v Args[F]) {
	out, p, g := v.Out(), newMassProduct(v), v.In(3)
	p.gradients(g, func(i, rows int, da []F) {
		gemm(blas.Trans, blas.NoTrans, p.k, rows*p.c, p.b, p.mass, p.k, da, rows*p.c, 0, out[i*p.c:], p.c*p.c)
	})
}

// productByMassOp is ∂A·Fᵀ (B×K), from what [productByTableOp] takes.
type productByMassOp struct{}

func (productByMassOp) Form() string { return "B K, K C*C, B C, B C -> B K" }
func (o productByMassOp) Run(out Value, in []Value) {
	Dispatch(o, out, in, productByMass, productByMass)
}

func productByMass[F Float](_ productByMassOp, v Args[F]) {
	out, p, g := v.Out(), newMassProduct(v), v.In(3)
	clear(out)
	p.gradients(g, func(i, rows int, da []F) {
		gemm(blas.NoTrans, blas.Trans, p.b, p.k, rows*p.c, da, rows*p.c, p.table[i*p.c:], p.c*p.c, 1, out, p.k)
	})
}

// productByInputOp is [DirichletByInputOp] of N·F, from N, F and g (B×C).
type productByInputOp struct{ Delta float64 }

func (productByInputOp) Form() string { return "B K, K C*C, B C -> B C" }
func (o productByInputOp) Run(out Value, in []Value) {
	Dispatch(o, out, in, productByInput, productByInput)
}

func productByInput[F Float](o productByInputOp, v Args[F]) {
	dlogp, p, delta := v.Out(), newMassProduct(v), F(o.Delta)
	c, g := p.c, p.logp // the third input is g here
	p.each(func(b, i, rows int, a []F) {
		setWeights(dlogp[b*c+i:][:rows], a, g[b*c:(b+1)*c])
	})
	for at, v := range g {
		dlogp[at] += delta * v
	}
}

// massProduct is N·F in flight.
type massProduct[F Float] struct {
	mass, table, logp []F
	b, k, c           int
}

func newMassProduct[F Float](v Args[F]) *massProduct[F] {
	return &massProduct[F]{mass: v.In(0), table: v.In(1), logp: v.In(2), b: v.Shape(0)[0], k: v.Columns(0), c: v.Columns(2)}
}

// parts calls f for some rows of all B matrices at a time: i is the first of them, and a
// B×(rows·C) is those rows.
func (p *massProduct[F]) parts(f func(i, rows int, a []F)) {
	// As many at a time as package simd takes, or a multiple: its sums are then the same.
	step := max(1, 1024/p.c)
	step *= max(1, formPart/(p.b*p.c*step))
	memory := make([]F, p.b*min(step, p.c)*p.c)
	for i := 0; i < p.c; i += step {
		rows := min(step, p.c-i)
		a := memory[:p.b*rows*p.c]
		gemm(blas.NoTrans, blas.NoTrans, p.b, rows*p.c, p.k, p.mass, p.k, p.table[i*p.c:], p.c*p.c, 0, a, rows*p.c)
		f(i, rows, a)
	}
}

// each calls f for the rows of one matrix after another, b its number, side by side.
func (p *massProduct[F]) each(f func(b, i, rows int, a []F)) {
	p.parts(func(i, rows int, a []F) {
		size := rows * p.c
		work.Each(p.b, 1, func(b int) { f(b, i, rows, a[b*size:(b+1)*size]) })
	})
}

// gradients calls f with ∂A in place of A.
func (p *massProduct[F]) gradients(g []F, f func(i, rows int, da []F)) {
	c, psi := p.c, make([]F, len(p.logp))
	p.each(func(b, _, _ int, a []F) { addColumns(psi[b*c:(b+1)*c], a) })
	work.Ranges(p.b, rowBlock, func(lo, hi int) { digammas(psi[lo*c : hi*c]) })
	p.parts(func(i, rows int, a []F) {
		size := rows * c
		work.Each(p.b, 1, func(b int) {
			setGradients(a[b*size:(b+1)*size], p.logp[b*c+i:][:rows], psi[b*c:(b+1)*c], g[b*c:(b+1)*c])
		})
		f(i, rows, a)
	})
}

// The scores of one matrix A (C×C) are sums over its rows, so that some rows at a time are
// enough for them and for their gradients.

// addScores adds rows of A (R×C) to the sums behind the scores,
//
//	sum_j += Σ_i α_ij ,  rest_j += Σ_i (α_ij − 1) log p̂_i − log Γ(α_ij)
func addScores[F Float](sum, rest, a, logp []F) {
	if a, ok := any(a).([]float32); ok {
		simd.DirichletPart(any(sum).([]float32), any(rest).([]float32), a, any(logp).([]float32), AlphaFloor)
		return
	}
	c, doubles := len(sum), any(a).([]float64)
	alpha, logGamma := make([]float64, c), make([]float64, c)
	for i, l := range logp {
		simd.SoftplusPlus64(alpha, doubles[i*c:(i+1)*c], AlphaFloor)
		simd.Lgamma64(logGamma, alpha)
		for j, v := range alpha {
			sum[j] += F(v)
			rest[j] += F((v-1)*float64(l) - logGamma[j])
		}
	}
}

// endScores turns rest into score_j = rest_j + log Γ(sum_j) + δ log p̂_j; sum is overwritten.
func endScores[F Float](rest, sum, logp []F, delta F) {
	if x, ok := any(sum).([]float32); ok {
		simd.Lgamma(x, x)
	} else {
		for j, v := range sum {
			sum[j] = F(lgamma(float64(v)))
		}
	}
	for j, v := range sum {
		rest[j] += v + F(delta*logp[j]) // never fused, as arm64 might
	}
}

// addColumns adds the rows' Σ_i α_ij to sum.
func addColumns[F Float](sum, a []F) {
	if a, ok := any(a).([]float32); ok {
		simd.DirichletColumns(any(sum).([]float32), a, AlphaFloor)
		return
	}
	for at, v := range a {
		sum[at%len(sum)] += F(simd.Softplus64(float64(v)) + AlphaFloor)
	}
}

// digammas sets x to ψ(x).
func digammas[F Float](x []F) {
	if x, ok := any(x).([]float32); ok {
		simd.Digamma(x, x)
		return
	}
	for j, v := range x {
		x[j] = F(simd.Digamma64(float64(v)))
	}
}

// setGradients replaces rows of A by ∂/∂A_ij of Σ_j g_j·score_j, psi_j being ψ(Σ_l α_lj):
//
//	g_j (log p̂_i − ψ(α_ij) + psi_j) · sigmoid(A_ij)
func setGradients[F Float](a, logp, psi, g []F) {
	if a, ok := any(a).([]float32); ok {
		simd.DirichletPartGradient(a, a, any(logp).([]float32), any(psi).([]float32), any(g).([]float32), AlphaFloor)
		return
	}
	c := len(g)
	for i, l := range logp {
		for j, v := range a[i*c : (i+1)*c] {
			y, derivative := simd.SoftplusSigmoid64(float64(v))
			alpha := y + AlphaFloor
			a[i*c+j] = F(float64(g[j]) * (float64(l) - simd.Digamma64(alpha) + float64(psi[j])) * derivative)
		}
	}
}

// setWeights sets dlogp_i to Σ_j g_j (α_ij − 1), the gradient of Σ_j g_j·score_j by log p̂_i.
func setWeights[F Float](dlogp, a, g []F) {
	c := len(g)
	for i := range dlogp {
		var sum float64
		for j, v := range a[i*c : (i+1)*c] {
			sum += float64(g[j]) * (simd.Softplus64(float64(v)) + AlphaFloor - 1)
		}
		dlogp[i] = F(sum)
	}
}

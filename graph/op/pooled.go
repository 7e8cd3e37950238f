package op

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas"
)

// PooledScores are bilinear Dirichlet scores (B×C) in which each row takes m classes T
// apart and the others, R, as one: from masses n (B×K), receivers a and senders b (K×C),
// log p̂ (B×C) and the classes T of each row (B×m, ascending, m < C). Parts of a Dirichlet
// vector add up to one of a Dirichlet vector, whose concentration is the sum of theirs. So
// a row gives p̃ = (p̂_i, i ∈ T; p̂_R = Σ_{i∈R} p̂_i), and with G(j) = j in T, else R,
//
//	score_j = δ log p̂_j + log Γ(Σ_i α_iG(j)) + Σ_i (α_iG(j) − 1) log p̃_i − log Γ(α_iG(j)) ,  i ∈ T ∪ {R}
//
//	A_ij = Σ_k n_k a_ki b_kj ,  a_kR and b_kR the means of a_k and b_k over R
//	α_ij = softplus(A_ij) + ε ,  α_Rj = (C − m)·(softplus(A_Rj) + ε)
//
// The row R is the sum of C − m concentrations of the mean form, the column R the density
// that the classes of R share: they keep among each other the proportions of p̂_j (and of
// π_j, once that is added). All are densities of the same p̃, so their softmax is Bayes'
// posterior given p̃. For m = C − 1 these are the scores of [DirichletScores] but for
// rounding. A row costs K·m² + C instead of K·C².
func PooledScores(delta float64) Op { return Op{PooledOp{Delta: delta}} }

// PooledOp is the op of [PooledScores].
type PooledOp struct{ Delta float64 }

func (PooledOp) Form() string                { return "B K, K C, K C, B C, int B m -> B C where C-m+1" }
func (o PooledOp) Run(out Value, in []Value) { Dispatch(o, out, in, pooledScores, pooledScores) }

func (o PooledOp) Grad(in Nodes, _, g *Node) (Nodes, error) {
	apply := func(k Kernel) *Node { return Op{k}.Of(in[0], in[1], in[2], in[3], in[4], g) }
	factors := apply(pooledByFactorsOp{}) // 2K×C
	k := in[1].Shape()[0]
	da, db := Op{rowRangeOp{0, k}}.Of(factors), Op{rowRangeOp{k, 2 * k}}.Of(factors)
	return Nodes{apply(pooledByMassOp{}), da, db, apply(pooledByInputOp(o)), nil}, nil
}

// The gradients, with g_G = Σ_{j: G(j)=G} g_j and, for i in T ∪ {R}, j likewise,
//
//	∂A_ij = g_j (log p̃_i − ψ(α_ij) + ψ(Σ_l α_lj)) sigmoid(A_ij) · (C − m where i = R)
//	∂a_ki = Σ_rows n_k Σ_j ∂A_ij b_kj ,  ∂b_kj = Σ_rows n_k Σ_i ∂A_ij a_ki ,  ∂n_k = Σ_ij ∂A_ij a_ki b_kj
//	∂log p̃_i = Σ_j g_j (α_ij − 1)
//
// where a class of R has a share 1/(C − m) of ∂a_kR and ∂b_kR, and p̂_j/p̂_R of ∂log p̃_R.

// pooledByFactorsOp is ∂a on ∂b (2K×C), from the inputs of [PooledOp] and g (B×C).
type pooledByFactorsOp struct{}

func (pooledByFactorsOp) Form() string { return pooledForm + "K+K C" }
func (o pooledByFactorsOp) Run(out Value, in []Value) {
	Dispatch(o, out, in, pooledByFactors, pooledByFactors)
}

// pooledByMassOp is ∂n (B×K).
type pooledByMassOp struct{}

func (pooledByMassOp) Form() string                { return pooledForm + "B K" }
func (o pooledByMassOp) Run(out Value, in []Value) { Dispatch(o, out, in, pooledByMass, pooledByMass) }

// pooledByInputOp is ∂log p̂ (B×C).
type pooledByInputOp struct{ Delta float64 }

func (pooledByInputOp) Form() string { return pooledForm + "B C" }
func (o pooledByInputOp) Run(out Value, in []Value) {
	Dispatch(o, out, in, pooledByInput, pooledByInput)
}

const pooledForm = "B K, K C, K C, B C, int B m, B C -> "

// rowRangeOp is rows Lo … Hi−1 of a matrix.
type rowRangeOp struct{ Lo, Hi int }

func (o rowRangeOp) Form() string              { return fmt.Sprintf("R C -> %d C where R-%d", o.Hi-o.Lo, o.Hi) }
func (o rowRangeOp) Run(out Value, in []Value) { Dispatch(o, out, in, rowRange, rowRange) }

func rowRange[F Float](o rowRangeOp, v Args[F]) { copy(v.Out(), v.In(0)[o.Lo*v.Columns(0):]) }

// pooled is one call for a batch.
type pooled[F Float] struct {
	mass, logp         []F       // B×K, B×C
	top                []int32   // B×m
	receiver, sender   []F       // C×K, the factors turned: those of a class lie together
	receivers, senders []float64 // K, their sums over the classes
	b, k, c, m         int
}

func newPooled[F Float](v Args[F]) *pooled[F] {
	p := &pooled[F]{
		mass: v.In(0), logp: v.In(3), top: v.Ints(4),
		b: v.Shape(0)[0], k: v.Columns(0), c: v.Columns(3), m: v.Columns(4),
	}
	p.receiver, p.receivers = transposed(v.In(1), p.c)
	p.sender, p.senders = transposed(v.In(2), p.c)
	return p
}

// transposed is the transpose of x (K×C), and the sums of its rows.
func transposed[F Float](x []F, c int) (t []F, sums []float64) {
	k := len(x) / c
	t, sums = make([]F, len(x)), make([]float64, k)
	for at, v := range x {
		t[at%c*k+at/c] = v
		sums[at/c] += float64(v)
	}
	return t, sums
}

// pooledRow is the memory of one row.
type pooledRow[F Float] struct {
	*pooled[F]
	top        []int32
	rest       F // C − m
	inTop      []bool
	logp       []F // C
	pooledLogp []F // m+1, log p̃
	a, na, b   []F // (m+1)×K: receivers, those times n, senders
	form       []F // (m+1)×(m+1), A and then ∂A
	sum, g     []F // m+1
	da, db     []F // (m+1)×K
}

// portions are how many parts a batch is cut into for the cores: a number that does not
// depend on theirs, since the parts' sums are added up.
const portions = 16

// rows calls f for the rows of each portion in order, with memory of its own.
func (p *pooled[F]) rows(f func(portion, b int, r *pooledRow[F])) {
	each := (p.b + portions - 1) / portions
	parallel(portions, func(i int) {
		if i*each >= p.b {
			return
		}
		n := p.m + 1
		r := &pooledRow[F]{
			pooled: p, rest: F(p.c - p.m), inTop: make([]bool, p.c), pooledLogp: make([]F, n),
			a: make([]F, n*p.k), na: make([]F, n*p.k), b: make([]F, n*p.k), form: make([]F, n*n),
			sum: make([]F, n), g: make([]F, n), da: make([]F, n*p.k), db: make([]F, n*p.k),
		}
		for b := i * each; b < min((i+1)*each, p.b); b++ {
			r.set(b)
			f(i, b, r)
			for _, j := range r.top {
				r.inTop[j] = false
			}
		}
	})
}

// set gathers what row b has of the factors, and makes A.
func (r *pooledRow[F]) set(b int) {
	k, c, m := r.k, r.c, r.m
	r.top, r.logp = r.pooled.top[b*m:(b+1)*m], r.pooled.logp[b*c:(b+1)*c]
	for i, j := range r.top {
		r.inTop[j] = true
		r.pooledLogp[i] = r.logp[j]
	}
	r.pooledLogp[m] = r.logRest()
	gatherPooled(r.a, r.receiver, r.receivers, r.top, k, c)
	gatherPooled(r.b, r.sender, r.senders, r.top, k, c)
	mass := r.mass[b*k : (b+1)*k]
	for at, v := range r.a {
		r.na[at] = v * mass[at%k]
	}
	gemm(blas.NoTrans, blas.Trans, m+1, m+1, k, r.na, k, r.b, k, 0, r.form, m+1)
}

// logRest is log p̂_R.
func (r *pooledRow[F]) logRest() F {
	largest := math.Inf(-1)
	for j, v := range r.logp {
		if !r.inTop[j] {
			largest = max(largest, float64(v))
		}
	}
	var sum float64
	for j, v := range r.logp {
		if !r.inTop[j] {
			sum += math.Exp(float64(v) - largest)
		}
	}
	return F(largest + math.Log(sum))
}

// gatherPooled sets to to the factors of the top classes and the mean of the others.
func gatherPooled[F Float](to, from []F, sums []float64, top []int32, k, c int) {
	m := len(top)
	for i, j := range top {
		copy(to[i*k:(i+1)*k], from[int(j)*k:])
	}
	for l := range k {
		rest := sums[l]
		for i := range m {
			rest -= float64(to[i*k+l])
		}
		to[m*k+l] = F(rest / float64(c-m))
	}
}

// pool is the sum of x (C) over each of T ∪ {R}.
func (r *pooledRow[F]) pool(to, x []F) {
	var rest F
	for j, v := range x {
		if !r.inTop[j] {
			rest += v
		}
	}
	for i, j := range r.top {
		to[i] = x[j]
	}
	to[r.m] = rest
}

func pooledScores[F Float](o PooledOp, v Args[F]) {
	score, p, delta := v.Out(), newPooled(v), F(o.Delta)
	c, m := p.c, p.m
	p.rows(func(_, b int, r *pooledRow[F]) {
		rest, n := r.g, m+1
		clear(r.sum)
		clear(rest)
		addScores(r.sum, rest, r.form[:m*n], r.pooledLogp[:m], 1)
		addScores(r.sum, rest, r.form[m*n:], r.pooledLogp[m:], r.rest)
		endScores(rest, r.sum, r.pooledLogp, 0)
		row := score[b*c : (b+1)*c]
		for j, l := range r.logp {
			row[j] = rest[m] + delta*l
		}
		for i, j := range r.top {
			row[j] = rest[i] + delta*r.logp[j]
		}
	})
}

// gradients turns A into ∂A, g being that of the row (C).
func (r *pooledRow[F]) gradients(g []F) {
	m, n := r.m, r.m+1
	r.pool(r.g, g)
	clear(r.sum)
	addColumns(r.sum, r.form[:m*n], 1)
	addColumns(r.sum, r.form[m*n:], r.rest)
	digammas(r.sum)
	setGradients(r.form[:m*n], r.pooledLogp[:m], r.sum, r.g, 1)
	setGradients(r.form[m*n:], r.pooledLogp[m:], r.sum, r.g, r.rest)
}

func pooledByFactors[F Float](_ pooledByFactorsOp, v Args[F]) {
	out, p, g := v.Out(), newPooled(v), v.In(5)
	k, c, n := p.k, p.c, p.m+1
	sums := make([][]F, portions) // of each portion 2×C×K, and 2×K that every class has
	p.rows(func(i, b int, r *pooledRow[F]) {
		if sums[i] == nil {
			sums[i] = make([]F, 2*(c+1)*k)
		}
		r.gradients(g[b*c : (b+1)*c])
		gemm(blas.NoTrans, blas.NoTrans, n, k, n, r.form, n, r.b, k, 0, r.da, k)
		mass := p.mass[b*k : (b+1)*k]
		for at := range r.da {
			r.da[at] *= mass[at%k]
		}
		gemm(blas.Trans, blas.NoTrans, n, k, n, r.form, n, r.na, k, 0, r.db, k)
		half := (c + 1) * k
		r.scatter(sums[i][:half], r.da)
		r.scatter(sums[i][half:], r.db)
	})
	total := sums[0]
	for _, sum := range sums[1:] {
		for at, v := range sum {
			total[at] += v
		}
	}
	for at := range out {
		half, l, j := at/(k*c), at/c%k, at%c
		part := total[half*(c+1)*k:][:(c+1)*k]
		out[at] = part[j*k+l] + part[c*k+l]
	}
}

// scatter adds the gradients of T ∪ {R} to those of the classes (C×K), and what every class has
// behind them (K).
func (r *pooledRow[F]) scatter(to, d []F) {
	k, m := r.k, r.m
	every, rest := to[r.c*k:], d[m*k:]
	for l := range rest {
		rest[l] /= r.rest
		every[l] += rest[l]
	}
	for i, j := range r.top {
		row, from := to[int(j)*k:(int(j)+1)*k], d[i*k:(i+1)*k]
		for l, v := range from {
			row[l] += v - rest[l]
		}
	}
}

func pooledByMass[F Float](_ pooledByMassOp, v Args[F]) {
	out, p, g := v.Out(), newPooled(v), v.In(5)
	k, c, n := p.k, p.c, p.m+1
	p.rows(func(_, b int, r *pooledRow[F]) {
		r.gradients(g[b*c : (b+1)*c])
		gemm(blas.NoTrans, blas.NoTrans, n, k, n, r.form, n, r.b, k, 0, r.da, k)
		row := out[b*k : (b+1)*k]
		clear(row)
		for at, v := range r.da {
			row[at%k] += v * r.a[at]
		}
	})
}

func pooledByInput[F Float](o pooledByInputOp, v Args[F]) {
	out, p, g, delta := v.Out(), newPooled(v), v.In(5), F(o.Delta)
	c, m, n := p.c, p.m, p.m+1
	p.rows(func(_, b int, r *pooledRow[F]) {
		own := g[b*c : (b+1)*c]
		r.pool(r.g, own)
		setWeights(r.sum[:m], r.form[:m*n], r.g, 1)
		setWeights(r.sum[m:], r.form[m*n:], r.g, r.rest)
		row := out[b*c : (b+1)*c]
		for j, l := range r.logp {
			row[j] = delta*own[j] + r.sum[m]*F(math.Exp(float64(l-r.pooledLogp[m])))
		}
		for i, j := range r.top {
			row[j] = delta*own[j] + r.sum[i]
		}
	})
}

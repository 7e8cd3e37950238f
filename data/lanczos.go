package data

import (
	"math"
	"math/rand/v2"

	"calibra/graph/work"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/gonum"
	"gonum.org/v1/gonum/mat"
)

// krylov is a Lanczos basis of a symmetric operator A: orthonormal q₁ … q_k with
// A qᵢ = βᵢ₋₁ qᵢ₋₁ + αᵢ qᵢ + βᵢ qᵢ₊₁, kept orthogonal in full (Golub and Van Loan,
// Matrix Computations, 4th ed., §10.3). It meets A only as a product with a
// vector, so that no M×M matrix is ever formed.
type krylov struct {
	apply       func(dst, v []float64) // dst = A v
	locked      int                    // rows of basis that are not q's but vectors to stay orthogonal to
	basis       blas64.General         // a vector a row; the last is q_{k+1}
	alpha, beta []float64
	rng         *rand.Rand
}

// newKrylov starts a basis for an operator on m coordinates, orthogonal to the
// given orthonormal vectors, from a start that is always the same.
func newKrylov(m int, apply func(dst, v []float64), locked [][]float64) *krylov {
	k := &krylov{apply: apply, locked: len(locked), rng: rand.New(rand.NewPCG(1, uint64(m)))}
	k.basis = blas64.General{Cols: m, Stride: m}
	for _, v := range locked {
		k.push(v)
	}
	k.push(k.fresh())
	return k
}

func (k *krylov) push(v []float64) {
	k.basis.Data = append(k.basis.Data, v...)
	k.basis.Rows++
}

// last is q_{k+1}.
func (k *krylov) last() []float64 {
	return k.basis.Data[(k.basis.Rows-1)*k.basis.Cols:]
}

// fresh is a random unit vector orthogonal to the basis.
func (k *krylov) fresh() []float64 {
	v := make([]float64, k.basis.Cols)
	for i := range v {
		v[i] = k.rng.NormFloat64()
	}
	k.orthogonalize(v)
	floats.Scale(1/floats.Norm(v, 2), v)
	return v
}

// orthogonalize takes from v its part in the span of the basis, twice, which
// leaves it orthogonal to working precision.
func (k *krylov) orthogonalize(v []float64) {
	if k.basis.Rows == 0 {
		return
	}
	x := blas64.Vector{N: len(v), Inc: 1, Data: v}
	c := blas64.Vector{N: k.basis.Rows, Inc: 1, Data: make([]float64, k.basis.Rows)}
	for range 2 {
		blas64.Gemv(blas.NoTrans, 1, k.basis, x, 0, c)
		blas64.Gemv(blas.Trans, -1, k.basis, c, 1, x)
	}
}

// extend grows the basis to the given number of steps.
func (k *krylov) extend(steps int) {
	w := make([]float64, k.basis.Cols)
	for len(k.alpha) < steps {
		q := k.last()
		k.apply(w, q)
		k.alpha = append(k.alpha, floats.Dot(q, w))
		scale := floats.Norm(w, 2)
		k.orthogonalize(w)
		beta := floats.Norm(w, 2)
		if k.basis.Rows == k.basis.Cols {
			k.beta = append(k.beta, 0) // the whole space
			return
		}
		if beta <= 1e-14*scale || scale == 0 { // an invariant subspace: go on outside it
			k.beta = append(k.beta, 0)
			k.push(k.fresh())
			continue
		}
		k.beta = append(k.beta, beta)
		floats.Scale(1/beta, w)
		k.push(w)
	}
}

// ritz is the eigenvalues of the tridiagonal matrix of α and β, ascending, and
// its eigenvectors as columns.
func (k *krylov) ritz() (theta []float64, s blas64.General, ok bool) {
	n := len(k.alpha)
	theta = append([]float64(nil), k.alpha...)
	off := append([]float64(nil), k.beta[:n-1]...)
	s = blas64.General{Rows: n, Cols: n, Stride: n, Data: make([]float64, n*n)}
	ok = gonum.Implementation{}.Dsteqr(lapack.EVTridiag, n, theta, off, s.Data, n, make([]float64, max(1, 2*n-2)))
	return theta, s, ok
}

// leadingByLanczos is the p largest eigenvalues of the positive semidefinite
// operator on m ≥ p coordinates, descending, with their vectors as columns, each
// with a residual below 1e-12 of the largest. ok is false where a repeated
// eigenvalue was missed, as a Krylov space may.
func leadingByLanczos(m, p int, apply func(dst, v []float64)) (vectors *mat.Dense, values []float64, ok bool) {
	k := newKrylov(m, apply, nil)
	var theta []float64
	var s blas64.General
	for steps := min(2*p+20, m); ; steps = min(steps+steps/4, m) {
		k.extend(steps)
		if theta, s, ok = k.ritz(); !ok {
			return nil, nil, false
		}
		n := len(theta)
		worst := 0.0
		for j := n - p; j < n; j++ {
			worst = max(worst, math.Abs(k.beta[n-1]*s.Data[(n-1)*n+j]))
		}
		if worst <= 1e-12*theta[n-1] || n == m {
			break
		}
	}

	n := len(theta)
	basis := mat.NewDense(n, m, k.basis.Data[:n*m])
	top := mat.NewDense(n, n, s.Data).Slice(0, n, n-p, n)
	var ascending mat.Dense
	ascending.Mul(basis.T(), top)
	vectors, values = mat.NewDense(m, p, nil), make([]float64, p)
	locked := make([][]float64, p)
	for j := range p {
		values[j] = max(theta[n-1-j], 0)
		locked[j] = mat.Col(nil, p-1-j, &ascending)
		vectors.SetCol(j, locked[j])
	}
	if n == m {
		return vectors, values, true
	}

	// Outside the span of the vectors found no direction may have a larger
	// variance than the last of them; a few steps there would meet one.
	rest := newKrylov(m, apply, locked)
	rest.extend(min(30, m-p))
	theta, _, ok = rest.ritz()
	return vectors, values, ok && theta[len(theta)-1] <= values[p-1]+1e-9*values[0]
}

// gramProduct is dst = ZᵀZ v / N of x standardized. The rows are summed in blocks whose bounds
// and order do not depend on the number of processors.
func gramProduct(x mat.Matrix, scale *Standardizer) func(dst, v []float64) {
	n, m := x.Dims()
	const tasks, block = 8, 32 // a block of 32 rows stays in the cache for its second use
	partial, buffers := make([][]float64, tasks), make([][]float64, tasks)
	for t := range partial {
		partial[t], buffers[t] = make([]float64, m), make([]float64, block*m)
	}
	return func(dst, v []float64) {
		work.Each(tasks, 1, func(t int) {
			sum := blas64.Vector{N: m, Inc: 1, Data: partial[t]}
			clear(sum.Data)
			y := blas64.Vector{Inc: 1, Data: make([]float64, block)}
			for i, end := t*n/tasks, (t+1)*n/tasks; i < end; i += block {
				y.N = min(block, end-i)
				rows := blas64.General{Rows: y.N, Cols: m, Stride: m, Data: buffers[t]}
				for r := range y.N {
					row := rows.Data[r*m : (r+1)*m]
					copy(row, Row(x, i+r, row))
					scale.row(row)
				}
				blas64.Gemv(blas.NoTrans, 1, rows, blas64.Vector{N: m, Inc: 1, Data: v}, 0, y)
				blas64.Gemv(blas.Trans, 1, rows, y, 1, sum)
			}
		})
		clear(dst)
		for _, s := range partial {
			floats.Add(dst, s)
		}
		floats.Scale(1/float64(n), dst)
	}
}

package simd

import (
	"fmt"
	"slices"
	"sync"
)

// dirichletBlock keeps the arrays of one block in a first-level cache.
const dirichletBlock = 1024

// DirichletScores computes, for each of B matrices A and rows log p̂ of C entries,
//
//	score_j = Σ_i (α_ij − 1 + δ·1[i=j])·log p̂_i − Σ_i ln Γ(α_ij) + ln Γ(Σ_i α_ij) ,
//	α = softplus(A) + ε ,
//
// with score and logp B×C and a B×C², entry i·C+j of a matrix for predicted class i
// and true class j. Intermediate values never leave the cache, and a batch row's
// scores do not depend on the others. It works on the calling goroutine. It
// panics if the lengths disagree.
func DirichletScores(score, a, logp []float32, c int, delta, epsilon float32) {
	mustBeBatch("DirichletScores", c, len(a), len(score), len(logp))
	group, step := dirichletParts(c)
	w := newDirichletSpace(group*step*c, group*c)
	w.scores(score, nil, a, logp, c, delta, epsilon)
	dirichlets.Put(w)
}

// scores are those of [DirichletScores], and of [DirichletScoresAndGradient] where gradient is not nil.
func (w *dirichletSpace) scores(score, gradient, a, logp []float32, c int, delta, epsilon float32) {
	group, step := dirichletParts(c)
	for lo := 0; lo < len(score); lo += group * c {
		hi := min(lo+group*c, len(score))
		sum, rest := w.sum[:hi-lo], score[lo:hi]
		clear(sum)
		clear(rest)
		for i := 0; i < c; i += step {
			rows := min(step, c-i)
			at, end := i*c, i*c+(hi-lo)/c*rows*c
			alpha, lg, part := w.alpha[:end-at], w.lg[:end-at], a[lo*c:][at:end]
			if gradient == nil {
				softplusKernel(alpha, part, epsilon)
				Lgamma(lg, alpha)
			} else {
				softplusSigmoidKernel(alpha, gradient[lo*c:][at:end], part, epsilon)
				lgammaDigammaKernel(lg, w.psi[at:end], alpha)
			}
			for b := 0; b < hi-lo; b += c {
				at, end := b*rows, (b+c)*rows
				scoreSumsKernel(sum[b:b+c], rest[b:b+c], alpha[at:end], lg[at:end], logp[lo+b+i:lo+b+i+rows])
			}
		}
		if gradient == nil {
			Lgamma(sum, sum)
		} else {
			lgammaDigammaKernel(sum, w.psiSum[:hi-lo], sum)
		}
		for j, v := range logp[lo:hi] {
			rest[j] += sum[j] + float32(delta*v) // never fused, as arm64 might
		}
		for b := lo; gradient != nil && b < hi; b += c {
			at := b - lo
			slopesKernel(gradient[b*c:][:c*c], w.psi[at*c:][:c*c], w.psiSum[at:][:c], w.ones[:c], logp[b:][:c])
		}
	}
}

// DirichletGradient computes the gradient of Σ_j g_j·score_j with respect to A,
//
//	da_ij = g_j·(log p̂_i − ψ(α_ij) + ψ(Σ_l α_lj))·σ(A_ij) ,
//
// in the shapes of DirichletScores, with g B×C and da B×C². It panics if the lengths
// disagree; da may be a.
func DirichletGradient(da, a, logp, g []float32, c int, epsilon float32) {
	mustBeBatch("DirichletGradient", c, len(a), len(g), len(logp))
	sameLength("DirichletGradient", len(da), len(a))
	group, step := dirichletParts(c)
	w := newDirichletSpace(group*c*c, group*c)
	for lo := 0; lo < len(g); lo += group * c {
		hi := min(lo+group*c, len(g))
		matrices, gradient, alpha := a[lo*c:hi*c], da[lo*c:hi*c], w.alpha[:(hi-lo)*c]
		sum := w.sum[:hi-lo]
		clear(sum)
		for i := 0; i < c; i += step {
			rows := min(step, c-i)
			at, end := i*c, i*c+(hi-lo)/c*rows*c
			softplusSigmoidKernel(alpha[at:end], gradient[at:end], matrices[at:end], epsilon)
			for b := 0; b < hi-lo; b += c {
				columnSumsKernel(sum[b:b+c], alpha[at+b*rows:at+(b+c)*rows])
			}
		}
		Digamma(sum, sum)
		for i := 0; i < c; i += step {
			rows := min(step, c-i)
			at, end := i*c, i*c+(hi-lo)/c*rows*c
			psi := alpha[at:end]
			Digamma(psi, psi)
			for b := 0; b < hi-lo; b += c {
				slopesKernel(gradient[at+b*rows:at+(b+c)*rows], psi[b*rows:(b+c)*rows], sum[b:b+c], g[lo+b:lo+b+c], logp[lo+b+i:lo+b+i+rows])
			}
		}
	}
	dirichlets.Put(w)
}

// DirichletScoresAndGradient is DirichletScores, and in the same pass over A what
// DirichletGradient needs of it, the gradients for g = 1:
//
//	gradient_ij = (log p̂_i − ψ(α_ij) + ψ(Σ_l α_lj))·σ(A_ij) ,
//
// which [ScaleColumns] by g completes. The exponentials, logarithms and quotients that
// the two share are taken once. gradient is B×C². It panics if the lengths disagree.
func DirichletScoresAndGradient(score, gradient, a, logp []float32, c int, delta, epsilon float32) {
	mustBeBatch("DirichletScoresAndGradient", c, len(a), len(score), len(logp))
	sameLength("DirichletScoresAndGradient", len(gradient), len(a))
	group, _ := dirichletParts(c)
	w := newDirichletSpace(group*c*c, group*c)
	w.scores(score, gradient, a, logp, c, delta, epsilon)
	dirichlets.Put(w)
}

// ScaleColumns multiplies entry ij of each of B matrices of x by g_j, one row of g, B×C,
// for each matrix of x, B×C². It panics if the lengths disagree.
func ScaleColumns(x, g []float32, c int) {
	mustBeBatch("ScaleColumns", c, len(x), len(g), len(g))
	for b := 0; b < len(g); b += c {
		matrix, row := x[b*c:(b+c)*c], g[b:b+c]
		if k := sets[isa].scaleColumns; k != nil {
			k(&matrix[0], &row[0], c, c)
		} else {
			scaleColumnsPortable(matrix, row)
		}
	}
}

// dirichletParts cuts the work for C classes: a group of whole matrices at a time if
// they are small, or else step rows of one matrix.
func dirichletParts(c int) (group, step int) {
	if c*c <= dirichletBlock {
		return dirichletBlock / (c * c), c
	}
	return 1, max(1, dirichletBlock/c)
}

func mustBeBatch(function string, c, matrices, rows, logs int) {
	if c <= 0 || rows%c != 0 || matrices != rows*c || logs != rows {
		panic(fmt.Sprintf("simd: %s of %d classes: %d entries of A, %d of the rows, %d of log p̂", function, c, matrices, rows, logs))
	}
}

// dirichletSpace is the memory of one call.
type dirichletSpace struct{ alpha, lg, psi, sum, psiSum, ones []float32 }

var dirichlets = sync.Pool{New: func() any { return new(dirichletSpace) }}

// newDirichletSpace has room for so many entries of A and columns, until it is put back.
func newDirichletSpace(entries, columns int) *dirichletSpace {
	w := dirichlets.Get().(*dirichletSpace)
	if len(w.alpha) < entries {
		w.alpha, w.lg, w.psi = make([]float32, entries), make([]float32, entries), make([]float32, entries)
	}
	if len(w.sum) < columns {
		w.sum, w.psiSum, w.ones = make([]float32, columns), make([]float32, columns), slices.Repeat([]float32{1}, columns)
	}
	return w
}

func scoreSumsPortable(sum, rest, alpha, lg, logp []float32) {
	c := len(sum)
	for i, l := range logp {
		alpha, lg := alpha[i*c:(i+1)*c], lg[i*c:(i+1)*c]
		for j, x := range alpha {
			sum[j] += x
			rest[j] += (x-1)*l - lg[j]
		}
	}
}

func columnSumsPortable(sum, alpha []float32) {
	for i := 0; i < len(alpha); i += len(sum) {
		for j, x := range alpha[i : i+len(sum)] {
			sum[j] += x
		}
	}
}

func slopesPortable(gradient, psi, psiSum, g, logp []float32) {
	c := len(g)
	for i, l := range logp {
		gradient, psi := gradient[i*c:(i+1)*c], psi[i*c:(i+1)*c]
		for j := range gradient {
			gradient[j] *= g[j] * (l - psi[j] + psiSum[j])
		}
	}
}

func scaleColumnsPortable(x, g []float32) {
	for i := 0; i < len(x); i += len(g) {
		for j, v := range g {
			x[i+j] *= v
		}
	}
}

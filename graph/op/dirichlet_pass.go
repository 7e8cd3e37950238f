package op

import (
	"sync"

	"calibra/graph/simd"
)

// The float32 passes of the Dirichlet scores work on one row of the batch at a time,
// and on as many rows i of its C×C matrix as fit a first-level cache, so that the
// B×C² intermediate is read once and nothing of its size is written but ∂L/∂A.

// chunk is how many elements of A a pass holds at a time, four arrays of them.
const chunk = 2048

// rowsPerBlock makes a block of work worth handing to another core.
func rowsPerBlock(c int) int { return 1 + 4*chunk/(c*c) }

type rowPass struct {
	a, logp []float32
	c       int
	delta   float32
}

// rows are the batch rows of a block.
func (p *rowPass) rows(block int) (lo, hi int) {
	size := rowsPerBlock(p.c)
	return block * size, min((block+1)*size, len(p.logp)/p.c)
}

func (p *rowPass) blocks() int {
	size := rowsPerBlock(p.c)
	return (len(p.logp)/p.c + size - 1) / size
}

// scratch is one worker's memory: chunks of α, σ, ln Γ(α) and ψ(α), and sums over i
// for each class j.
type scratch struct {
	alpha, sigma, lg, psi []float32
	sum, logB, linear     []float32
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

func borrow(c int) *scratch {
	s := scratches.Get().(*scratch)
	n := max(chunk/c, 1) * c
	for _, x := range []*[]float32{&s.alpha, &s.sigma, &s.lg, &s.psi} {
		*x = grown(*x, n)
	}
	for _, x := range []*[]float32{&s.sum, &s.logB, &s.linear} {
		*x = grown(*x, c)
	}
	return s
}

func grown(x []float32, n int) []float32 {
	if cap(x) < n {
		return make([]float32, n)
	}
	return x[:n]
}

// scorePass computes score_j = Σ_i (α_ij − 1 + δ1[i=j]) log p̂_i − log B(α_·j).
type scorePass struct {
	rowPass
	score []float32
}

func (p *scorePass) run() { simd.Run(p.blocks(), p) }

func (p *scorePass) Block(block int) {
	s := borrow(p.c)
	c, step := p.c, len(s.alpha)/p.c
	lo, hi := p.rows(block)
	for b := lo; b < hi; b++ {
		clear(s.sum)
		clear(s.logB)
		clear(s.linear)
		logp, a := p.logp[b*c:(b+1)*c], p.a[b*c*c:(b+1)*c*c]
		for i := 0; i < c; i += step {
			end := min(i+step, c)
			n := (end - i) * c
			simd.DirichletValues(s.alpha[:n], s.lg[:n], a[i*c:end*c], AlphaFloor)
			for r := i; r < end; r++ {
				accumulate(s, (r-i)*c, logp[r])
			}
		}
		score := p.score[b*c : (b+1)*c]
		simd.Lgamma(score, s.sum)
		for j := range score {
			score[j] += s.linear[j] + p.delta*logp[j] - s.logB[j]
		}
	}
	scratches.Put(s)
}

// accumulate adds row at of the chunk to the sums: Σα, Σ ln Γ(α), Σ (α−1) log p̂.
func accumulate(s *scratch, at int, logp float32) {
	c := len(s.sum)
	alpha, lg := s.alpha[at:at+c], s.lg[at:at+c]
	sum, logB, linear := s.sum[:c], s.logB[:c], s.linear[:c]
	for j, x := range alpha {
		sum[j] += x
		logB[j] += lg[j]
		linear[j] += (x - 1) * logp
	}
}

// slopePass computes ∂L/∂A_ij = g_j (log p̂_i − ψ(α_ij) + ψ(Σ_l α_lj)) · σ(A_ij). A
// matrix of more than one chunk is gone through twice, first for the sums.
type slopePass struct {
	rowPass
	g, da []float32
}

func (p *slopePass) run() { simd.Run(p.blocks(), p) }

func (p *slopePass) Block(block int) {
	s := borrow(p.c)
	c, step := p.c, len(s.alpha)/p.c
	lo, hi := p.rows(block)
	for b := lo; b < hi; b++ {
		a, da := p.a[b*c*c:(b+1)*c*c], p.da[b*c*c:(b+1)*c*c]
		clear(s.sum)
		for i := 0; i < c; i += step {
			end := min(i+step, c)
			n := (end - i) * c
			if step >= c {
				simd.DirichletTerms(s.alpha[:n], s.sigma[:n], s.lg[:n], s.psi[:n], a, AlphaFloor)
			} else {
				simd.Softplus(s.alpha[:n], a[i*c:end*c])
			}
			for at := 0; at < n; at += c {
				simd.Axpy(s.sum, 1, s.alpha[at:at+c])
			}
		}
		simd.Digamma(s.sum, s.sum)
		for i := 0; i < c; i += step {
			end := min(i+step, c)
			n := (end - i) * c
			if step < c {
				simd.DirichletTerms(s.alpha[:n], s.sigma[:n], s.lg[:n], s.psi[:n], a[i*c:end*c], AlphaFloor)
			}
			for r := i; r < end; r++ {
				at := (r - i) * c
				slopeRow(da[r*c:(r+1)*c], p.g[b*c:(b+1)*c], s.psi[at:at+c], s.sigma[at:at+c], s.sum, p.logp[b*c+r])
			}
		}
	}
	scratches.Put(s)
}

func slopeRow(da, g, psi, sigma, psiSum []float32, logp float32) {
	c := len(da)
	g, psi, sigma, psiSum = g[:c], psi[:c], sigma[:c], psiSum[:c]
	for j := range da {
		da[j] = g[j] * (logp - psi[j] + psiSum[j]) * sigma[j]
	}
}

package op

import (
	"fmt"
	"math"
	"sync"

	"calibra/graph/simd"
	"calibra/graph/work"
)

// Nearest assigns each slot to its nearest codeword (paper, section 3.1):
//
//	s(i) = argmin_k ‖z⁽ⁱ⁾ − c_k‖²,   the first index on ties
//
// from features z (B×M) and a codebook c (K×d) to codes s (B×w), w = M/d.
// Distances are computed from differences in float64: ½‖c_k‖² − z⁽ⁱ⁾·c_k loses digits if slots
// and codewords lie farther from 0 than from each other. Codes have no derivative.
func Nearest() Op { return Op{NearestOp{}} }

// NearestOp is the op of [Nearest].
type NearestOp struct{}

func (NearestOp) Form() string                { return "B M, K d -> int B M/d" }
func (o NearestOp) Run(out Value, in []Value) { Dispatch(o, out, in, nearest32, nearest64) }

func nearest32(_ NearestOp, v Args[float32]) {
	book := codebookOf(v.In(1), v.Columns(1))
	simd.NearestRows(v.OutInts(), v.In(0), book)
	codebooks.Put(book)
}

func nearest64(_ NearestOp, v Args[float64]) { assign(v.OutInts(), v.In(0), v.In(1), v.Columns(1)) }

// NearestIn is [Nearest] among codewords from … to−1 of c alone: of a level, or of a slot that has its own. The codes
// are rows of c, from … to−1.
func NearestIn(from, to int) Op { return Op{NearestInOp{from, to}} }

// NearestInOp is the op of [NearestIn].
type NearestInOp struct{ From, To int }

func (o NearestInOp) Form() string              { return fmt.Sprintf("B M, K d -> int B M/d where K-%d", o.To) }
func (o NearestInOp) Run(out Value, in []Value) { Dispatch(o, out, in, nearestIn32, nearestIn64) }

func nearestIn32(o NearestInOp, v Args[float32]) {
	d := v.Columns(1)
	book := codebookOf(v.In(1)[o.From*d:o.To*d], d)
	simd.NearestRows(v.OutInts(), v.In(0), book)
	codebooks.Put(book)
	o.count(v.OutInts())
}

func nearestIn64(o NearestInOp, v Args[float64]) {
	d := v.Columns(1)
	assign(v.OutInts(), v.In(0), v.In(1)[o.From*d:o.To*d], d)
	o.count(v.OutInts())
}

func (o NearestInOp) count(codes []int32) {
	for i := range codes {
		codes[i] += int32(o.From)
	}
}

var codebooks = sync.Pool{New: func() any { return new(simd.Codebook) }}

// codebookOf is the codewords as package simd has them, in memory of codebooks.
func codebookOf(words []float32, d int) *simd.Codebook {
	book := codebooks.Get().(*simd.Codebook)
	book.Set(words, len(words)/d, d)
	return book
}

// assign is the readable form, which float64 runs and float32 is tested against.
func assign[F Float](s []int32, z, c []F, d int) {
	for i := range s {
		best := math.Inf(1)
		s[i] = 0
		for k := range len(c) / d {
			if dist := apart(z[i*d:(i+1)*d], c[k*d:(k+1)*d]); dist < best {
				best, s[i] = dist, int32(k)
			}
		}
	}
}

// apart is ‖x − y‖² in float64.
func apart[F Float](x, y []F) (sum float64) {
	for j, v := range y {
		e := float64(x[j]) - float64(v)
		sum += e * e
	}
	return sum
}

// Nearby assigns to each slot its m nearest codewords, the nearest first, the first index on ties: from
// features z (B×M) and codewords c (K×d) to codes (B×w·m), slot by slot. With m = 1 it is
// [Nearest]. Codes have no derivative.
func Nearby(m int) Op { return Op{NearbyOp{m}} }

// NearShares weighs the m codewords that [Nearby] found,
//
//	e_k ∝ exp(−(D_k − min D)/τ) ,  D_k = ‖z⁽ⁱ⁾ − c_k‖² ,  Σ_k e_k = 1 .
//
// Shares below 0.02 become 0 and the others sum to one again; the nearest is kept. τ = 0 leaves the
// nearest alone. From z (B×M), c (K×d), the codes (B×w·m) and τ (1) to B×w·m. It has no derivative.
func NearShares(m int) Op { return Op{NearSharesOp{m}} }

// LeastShare is the share below which a codeword is left out.
const LeastShare = 0.02

// NearbyOp is the op of [Nearby].
type NearbyOp struct{ Of int }

func (o NearbyOp) Form() string {
	return fmt.Sprintf("B M, K d -> int B M/d*%[1]d where K-%[1]d", o.Of)
}

func (o NearbyOp) Run(out Value, in []Value) { Dispatch(o, out, in, nearby32, nearby64) }

func nearby32(o NearbyOp, v Args[float32]) {
	book := codebookOf(v.In(1), v.Columns(1))
	simd.NearbyRows(v.OutInts(), v.In(0), o.Of, book)
	codebooks.Put(book)
}

// nearby64 is the readable form, which float32 is tested against.
func nearby64(o NearbyOp, v Args[float64]) {
	codes, z, c, d := v.OutInts(), v.In(0), v.In(1), v.Columns(1)
	all := make([]int32, len(c)/d)
	for k := range all {
		all[k] = int32(k)
	}
	work.Ranges(len(z)/d, rowBlock, func(lo, hi int) { // slot by slot
		best, dist := make([]float64, o.Of), make([]float64, len(all))
		for at := lo; at < hi; at++ {
			listed(dist, z[at*d:(at+1)*d], c, all)
			to := codes[at*o.Of : (at+1)*o.Of]
			for k, x := range dist {
				if k < o.Of || x < best[o.Of-1] {
					simd.Insert(to, best, min(k, o.Of), int32(k), x)
				}
			}
		}
	})
}

// NearSharesOp is the op of [NearShares].
type NearSharesOp struct{ Of int }

func (o NearSharesOp) Form() string {
	return fmt.Sprintf("B M, K d, int B M/d*%[1]d, 1 -> B M/d*%[1]d", o.Of)
}

func (o NearSharesOp) Run(out Value, in []Value) { Dispatch(o, out, in, nearShares, nearShares) }

func nearShares[F Float](o NearSharesOp, v Args[F]) {
	shares, z, c, codes, tau, d := v.Out(), v.In(0), v.In(1), v.Ints(2), v.In(3)[0], v.Columns(1)
	work.Ranges(len(z)/d, rowBlock, func(lo, hi int) { // slot by slot
		for at := lo; at < hi; at++ {
			share(shares[at*o.Of:(at+1)*o.Of], z[at*d:(at+1)*d], c, codes[at*o.Of:(at+1)*o.Of], tau)
		}
	})
}

// listed are ‖z − c_k‖² of the codewords that codes list, four side by side, as each adds to what it has.
func listed[F Float](dist, z, c []F, codes []int32) {
	d, j := len(z), 0
	word := func(j int) []F { return c[int(codes[j])*d:][:d] }
	for ; j+4 <= len(codes); j += 4 {
		c0, c1, c2, c3 := word(j), word(j+1), word(j+2), word(j+3)
		var s0, s1, s2, s3 F
		for i, v := range z {
			e0, e1, e2, e3 := v-c0[i], v-c1[i], v-c2[i], v-c3[i]
			s0, s1, s2, s3 = s0+e0*e0, s1+e1*e1, s2+e2*e2, s3+e3*e3
		}
		dist[j], dist[j+1], dist[j+2], dist[j+3] = s0, s1, s2, s3
	}
	for ; j < len(codes); j++ {
		var sum F
		for i, v := range word(j) {
			sum += (z[i] - v) * (z[i] - v)
		}
		dist[j] = sum
	}
}

func share[F Float](e, z, c []F, codes []int32, tau F) {
	listed(e, z, c, codes)
	least, total := e[0], F(1)
	e[0] = 1
	for j := 1; j < len(e); j++ {
		if tau > 0 {
			e[j] = F(math.Exp(-float64(max(e[j]-least, 0) / tau)))
		} else {
			e[j] = 0
		}
		total += e[j]
	}
	var kept F
	for j := range e {
		if j > 0 && e[j] < LeastShare*total {
			e[j] = 0
		}
		kept += e[j]
	}
	for j := range e {
		e[j] /= kept
	}
}

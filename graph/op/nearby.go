package op

import (
	"fmt"
	"math"
)

// Books is how a table of R codewords of width d serves the w slots of a row.
type Books struct {
	// Stages are books one behind the other, R/Stages codewords each: a slot is coded by the
	// first, what its nearest codeword leaves of it by the second, and so on.
	Stages int
	// Nearest is how many codewords of each book a slot is given, the nearest first.
	Nearest int
	// Apart gives each slot R/w codewords of its own, of one stage.
	Apart bool
}

// Codes is how many codewords a slot is given.
func (b Books) Codes() int { return b.Stages * b.Nearest }

// Nearby assigns to each slot its nearest codewords in each book, the first index on ties:
// from features z (B×M) and codewords c (R×d) to codes (B×w·Codes), slot by slot, stage by
// stage, which are rows of c. Of one book and one codeword it is [Nearest]. Codes have no
// derivative.
func Nearby(b Books) Op { return Op{NearbyOp{b}} }

// NearShares weighs the codewords that [Nearby] found,
//
//	e_k ∝ exp(−(D_k − min D)/τ) ,  D_k = ‖r − c_k‖² ,  Σ e_k = 1 in each book,
//
// r being what the stages before left of the slot. Shares below 0.02 become 0 and the others
// sum to one again; the nearest is kept. τ = 0 leaves the nearest alone. From z (B×M), c (R×d),
// the codes (B×w·Codes) and τ of each stage to B×w·Codes. It has no derivative.
func NearShares(b Books) Op { return Op{NearSharesOp{b}} }

// LeastShare is the share below which a codeword is left out.
const LeastShare = 0.02

// NearbyOp is the op of [Nearby].
type NearbyOp struct{ Books }

func (o NearbyOp) Form() string { return o.form("B M, R d -> int B M/d*%d") }

// form is one with the number of a slot's codewords, and what books require of R.
func (b Books) form(form string) string {
	each := fmt.Sprintf("R/%d", b.Stages)
	if b.Apart {
		each = fmt.Sprintf("%[1]d-1 1-%[1]d R/M/d", b.Stages) // of one stage, R/w codewords
	}
	return fmt.Sprintf(form+" where %[2]d-1 %[3]s-%[2]d", b.Codes(), b.Nearest, each)
}

func (o NearbyOp) Run(out Value, in []Value) { Dispatch(o, out, in, nearby, nearby) }

func nearby[F Float](o NearbyOp, v Args[F]) {
	codes, z, c, d := v.OutInts(), v.In(0), v.In(1), v.Columns(1)
	w, each := v.Columns(0)/d, len(c)/d/o.Stages
	if o.Apart {
		each /= w
	}
	rowwise(len(z)/(w*d), func(lo, hi int) {
		best, r := make([]float64, o.Nearest), make([]F, d)
		for at := lo * w; at < hi*w; at++ {
			copy(r, z[at*d:(at+1)*d])
			for stage := range o.Stages {
				to := codes[at*o.Codes()+stage*o.Nearest:][:o.Nearest]
				first := o.first(stage, at%w, each)
				nearest(to, best, r, c[first*d:(first+each)*d], first)
				leave(r, c[int(to[0])*d:][:d])
			}
		}
	})
}

// first is where the book of a stage and slot begins among the codewords.
func (b Books) first(stage, slot, each int) int {
	if b.Apart {
		return slot * each
	}
	return stage * each
}

// nearest fills to with those of the codewords c, numbered from first on, that are nearest to r, in
// order; best holds their distances.
func nearest[F Float](to []int32, best []float64, r, c []F, first int) {
	d := len(r)
	for k := range len(c) / d {
		insert(to, best, min(k, len(to)), int32(first+k), apart(r, c[k*d:(k+1)*d]))
	}
}

// insert puts k, whose distance is dist, among those found in order of their distances, if it is
// nearer than one of them or there is room; of equal ones the first is nearer.
func insert[F Float](to []int32, best []F, found int, k int32, dist F) {
	if found == len(to) {
		if found--; !(dist < best[found]) {
			return
		}
	}
	for ; found > 0 && dist < best[found-1]; found-- {
		best[found], to[found] = best[found-1], to[found-1]
	}
	best[found], to[found] = dist, k
}

// leave takes a codeword from r.
func leave[F Float](r, c []F) {
	for j, v := range c {
		r[j] -= v
	}
}

// NearSharesOp is the op of [NearShares].
type NearSharesOp struct{ Books }

func (o NearSharesOp) Form() string {
	return o.form(fmt.Sprintf("B M, R d, int B M/d*%%[1]d, %d -> B M/d*%%[1]d", o.Stages))
}

func (o NearSharesOp) Run(out Value, in []Value) { Dispatch(o, out, in, nearShares, nearShares) }

func nearShares[F Float](o NearSharesOp, v Args[F]) {
	shares, z, c, codes, tau, d := v.Out(), v.In(0), v.In(1), v.Ints(2), v.In(3), v.Columns(1)
	rowwise(len(z)/d, func(lo, hi int) { // slot by slot
		r := make([]F, d)
		for at := lo; at < hi; at++ {
			copy(r, z[at*d:(at+1)*d])
			for stage := range o.Stages {
				from := at*o.Codes() + stage*o.Nearest
				share(shares[from:][:o.Nearest], r, c, codes[from:][:o.Nearest], tau[stage])
				leave(r, c[int(codes[from])*d:][:d])
			}
		}
	})
}

func share[F Float](e, r, c []F, codes []int32, tau F) {
	d := len(r)
	var least, total F
	for j, k := range codes {
		var dist F
		for i, v := range c[int(k)*d:][:d] {
			dist += (r[i] - v) * (r[i] - v)
		}
		if j == 0 {
			least = dist
		}
		switch {
		case j == 0:
			e[j] = 1
		case tau > 0:
			e[j] = F(math.Exp(-float64(max(dist-least, 0) / tau)))
		default:
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

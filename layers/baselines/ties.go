package baselines

import (
	"math"

	"calibra/data"
)

// ties is which probabilities are one value: rounding moves two that are equal apart, by up to [data.Set.Resolution]
// each, and what walks over values in order would then tell them apart.
type ties struct {
	relative float64 // how far apart they may lie, relative to them, unless near 1
}

// leastTie is thousands of roundings of p̂ in float64, and far less than what distinguishes two rows.
const leastTie = 1e-12

// tiesOf are those of rows of scores: p/(1 − r) and p/(1 + r) are one value, r being the resolution.
func tiesOf(x *data.Set) ties { return ties{2 * x.Resolution / (1 - x.Resolution)} }

// width is how far apart two probabilities near p may lie that are one value. Above .999 the other classes of a row
// tell probabilities apart by 1 − p.
func (t ties) width(p float64) float64 {
	return math.Abs(p) * (t.relative*min(1, 1e3*max(0, 1-p)) + leastTie)
}

// value are the rows of one probability, as it came between lo and hi.
type value struct {
	lo, hi float64
	rows   []int
}

// middle is what it is taken for.
func (v value) middle() float64 { return v.lo + (v.hi-v.lo)/2 }

// values are the distinct values of p (N), ascending.
func (t ties) values(p []float64) (all []value) {
	order := ascending(p)
	for at := 0; at < len(order); {
		v, first := value{lo: p[order[at]]}, at
		for ; at < len(order) && p[order[at]] <= v.lo+t.width(v.lo); at++ {
			v.hi = p[order[at]]
		}
		v.rows = order[first:at]
		all = append(all, v)
	}
	return all
}

// reach widens value i by some more on either side, and by no more than a quarter of what lies between it and the next.
func reach(all []value, i int, more func(p float64) float64) (from, to float64) {
	v := all[i]
	below, above := more(v.lo), more(v.hi)
	if i > 0 {
		below = min(below, (v.lo-all[i-1].hi)/4)
	}
	if i < len(all)-1 {
		above = min(above, (all[i+1].lo-v.hi)/4)
	}
	return v.lo - below, v.hi + above
}

// singleReach is how far a probability lies, in a network, from that of the same row in calibra apply, and more: a
// network gets float32 scores, of which those up to 64 are off by 2⁻¹⁹. Near 1 it is as [ties.width].
func (t ties) singleReach(p float64) float64 { return max(t.width(p), ties{0x1p-19}.width(p)) }

// between is the part of the gap of two values after which the next begins. It is no ratio of whole numbers, as midway
// is, where shares of votes lie: between 2/23 and 4/23 of the calibration rows a row of 3/23 would be on either side,
// by rounding.
const between = 1 / math.Phi

// above is where value i ends and the next begins, where no rounding moves a probability across.
func above(all []value, i int) float64 {
	if i == len(all)-1 {
		return all[i].hi
	}
	return all[i].hi + (all[i+1].lo-all[i].hi)*between
}

package metrics

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"

	"calibra/experiments/internal/checked"
	"calibra/experiments/metrics/internal/tile"
)

// Interval is a 95 % range of values; NaN and NaN where there is none.
type Interval struct{ Low, High float64 }

var noInterval = Interval{math.NaN(), math.NaN()}

// Signed is the interval in so many decimals with signs, "+0.0012 – +0.0030"; "–" where there is none.
func (i Interval) Signed(decimals int) string {
	if math.IsNaN(i.Low) {
		return "–"
	}
	return Signed(i.Low, decimals) + " – " + Signed(i.High, decimals)
}

// MarshalJSON writes null where there is none.
func (i Interval) MarshalJSON() ([]byte, error) {
	if math.IsNaN(i.Low) {
		return []byte("null"), nil
	}
	type plain Interval
	return json.Marshal(plain(i))
}

// around is the interval of a statistic's mean over samples of this size, from its value and
// bootstrap replicates: their quantiles, moved so that their mean falls on the value, and so many times as far from it.
//
// The replicates of an error that is a mean of absolute values lie above the value,
// as resampling adds noise to noise, so their plain quantiles may not even contain
// it. The part of the value itself that is noise is measured by the noise floor; see [Interval.lessFloor].
func around(value float64, replicates []float64, wider float64) Interval {
	if math.IsNaN(value) {
		return noInterval
	}
	mean := checked.Mean(replicates)
	edges := checked.QuantileEdges(replicates, 40) // steps of 2.5 %
	return Interval{min(value+wider*(edges[1]-mean), value), max(value+wider*(edges[39]-mean), value)}
}

// lessFloor is the interval of the value that many rows show of an error that few rows raise to a floor f, from that of
// its mean over samples of this size. An error is a mean of |δ + ε|, about √(δ² + f²) with the noise ε that makes the
// floor,
//
//	√max(0, x² − f²)   of both ends x
func (i Interval) lessFloor(f float64) Interval {
	less := func(x float64) float64 { return math.Sqrt(max(0, x*x-f*f)) }
	return Interval{less(i.Low), less(i.High)}
}

// possible cuts off what no error can be: the move by [around] may take one near 0 below it. The interval still holds
// the value, which is off 0 by rounding at most.
func (i Interval) possible(value float64) Interval {
	i.Low = max(i.Low, min(value, 0))
	return i
}

// multiplicities draws n of n things with replacement and counts them.
func multiplicities(n int, rng *rand.Rand) []float64 {
	count := make([]float64, n)
	for range n {
		count[rng.IntN(n)]++
	}
	return count
}

// grouped cuts the rows at random into groups of (nearly) one size, which the local bootstrap draws instead of rows:
// each group of neighbours is summed once, and a replicate weighs the groups' sums. With as many groups as rows this is
// the bootstrap over rows; with fewer its variance is the same in expectation and that of the estimate grows by
// 1/groups (random groups, Wolter 1985, chapter 2). Rows that are one observation (0…, nil: none are) stay in one
// group.
type grouped struct {
	group []int     // N: the group of each row
	count int       // G
	order []int     // the rows, group by group
	parts int       // P: the replicates of the jackknife
	draws []float32 // (B+P)×G: how often each replicate has each group; the last P lack a part of the groups
}

// mostGroups bounds the groups, and groupValues the numbers a stripe keeps of them
// (C values a group for each of its rows): 1 % of the interval's width, 64 MiB a thread.
const (
	mostGroups  = 256
	groupValues = 1 << 17
)

// mostParts is how many parts of the rows the jackknife leaves out in turn, which knows a
// standard deviation to 11 %.
const mostParts = 40

func newGrouped(rows, classes, replicates int, whole []int, rng *rand.Rand) *grouped {
	g := &grouped{group: make([]int, rows), order: rng.Perm(rows)}
	place, things := make([]int, rows), rows // of each row, or of its whole group
	for at, i := range g.order {
		place[i] = at
	}
	if whole != nil {
		things = slices.Max(whole) + 1
		at := rng.Perm(things)
		for i, k := range whole {
			place[i] = at[k]
		}
		slices.SortStableFunc(g.order, func(i, j int) int { return place[i] - place[j] })
	}
	g.count = min(things, mostGroups, max(32, groupValues/classes))
	for i, at := range place {
		g.group[i] = at * g.count / things
	}
	if replicates > 0 && g.count > 1 {
		g.parts = min(g.count, mostParts)
	}
	g.draws = make([]float32, (replicates+g.parts)*g.count)
	for b := range replicates {
		for k, w := range multiplicities(g.count, rng) {
			g.draws[b*g.count+k] = float32(w)
		}
	}
	for part := range g.parts {
		for k := range g.count {
			if k*g.parts/g.count != part {
				g.draws[(replicates+part)*g.count+k] = 1
			}
		}
	}
	return g
}

// weights are how often replicate b has each row, N.
func (g *grouped) weights(b int) []float64 {
	weight := make([]float64, len(g.group))
	for i, k := range g.group {
		weight[i] = float64(g.draws[b*g.count+k])
	}
	return weight
}

// blocks cuts an order of rows, sorted by group, where the group changes.
func (g *grouped) blocks(order []int) (blocks []int) {
	for j, i := range order {
		if j == 0 || g.group[i] != g.group[order[j-1]] {
			blocks = append(blocks, j)
		}
	}
	return append(blocks, len(order))
}

// resampler is the observer that gives the residuals of the bootstrap replicates,
//
//	r_ic = Σ_j w_j K_ij e_jc / Σ_j w_j K_ij ,   i of weight w_i > 0,
//
// w being the multiplicity of a row's group times its own weight.
type resampler struct {
	*grouped
	replicates int
	tally      *tally
	r, s       []float32 // C×G×lanes: each group's sums
	rb, sb     []float32 // B×lanes: the replicates' sums
	norm       []float64 // B×lanes: Σ_c |r_ic|
}

var _ observer = (*resampler)(nil)

func newResampler(g *grouped, t *tally) *resampler {
	size := t.classes * g.count * lanes
	return &resampler{
		grouped: g, replicates: t.variants, tally: t.empty(),
		r: make([]float32, size), s: make([]float32, size),
		rb: make([]float32, t.variants*lanes), sb: make([]float32, t.variants*lanes),
		norm: make([]float64, t.variants*lanes),
	}
}

func (o *resampler) begin(*stripe) {
	clear(o.r)
	clear(o.s)
	clear(o.norm)
}

func (o *resampler) met(t *stripe, _, j0, _ int) {
	group := o.group[t.order[j0]]
	for c := range t.classes {
		at := (c*o.count + group) * lanes
		r, s, _ := t.sumsOf(c)
		copy(o.r[at:at+lanes], t.block[r:])
		copy(o.s[at:at+lanes], t.block[s:])
	}
}

func (o *resampler) end(t *stripe) {
	for c := range t.classes {
		at := c * o.count * lanes
		clear(o.rb)
		tile.Multiply(o.rb, o.draws, o.count, o.replicates, o.count, o.r[at:])
		clear(o.sb)
		tile.Multiply(o.sb, o.draws, o.count, o.replicates, o.count, o.s[at:])
		for l, i := range t.order[t.first : t.first+t.count] {
			if t.own[c*t.rows+t.first+l] == skipped {
				continue
			}
			e, draws, own := t.sample.Residual(i, c), o.draws[o.group[i]:], t.sample.W(i)
			for b := range o.replicates {
				w := own * float64(draws[b*o.count])
				if w == 0 {
					continue
				}
				r := math.Abs(float64(o.rb[b*lanes+l])+w*e) / (float64(o.sb[b*lanes+l]) + w)
				o.tally.add(b, c, r, w)
				o.norm[b*lanes+l] += r
			}
		}
	}
	for b := range o.replicates {
		o.tally.addNorm(b, slices.Max(o.norm[b*lanes:(b+1)*lanes]))
	}
}

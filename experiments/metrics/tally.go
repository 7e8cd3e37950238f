package metrics

import (
	"math"
	"sync"

	"calibra/experiments/internal/checked"
)

// fixedPoint turns a residual of at most 1, and a weight, into an integer, so that sums over rows are exact and have
// the same bits in any order: 2⁻⁴⁰ is 1e-12, and 2⁶³⁻⁴⁰ = 8·10⁶ rows fit, whose weights are 1 on average.
const fixedPoint = 1 << 40

// tally gathers local residuals of several variants of a sample (resampled rows,
// redrawn labels) into their LCE and MLCE.
type tally struct {
	variants, classes int
	lock              sync.Mutex
	sum, weight       []int64   // variants×C: Σ w |r_ic| in fixed point, Σ w in units
	unit              float64   // of weight: 1, or fixedPoint of rows that count differently
	most              []float64 // variants×C: max |r_ic|
	mostNorm          []float64 // variants: max_i Σ_c |r_ic|
}

func newTally(variants, classes int, unit float64) *tally {
	size := variants * classes
	return &tally{
		variants: variants, classes: classes, unit: unit,
		sum: make([]int64, size), weight: make([]int64, size),
		most: make([]float64, size), mostNorm: make([]float64, variants),
	}
}

// tallyOf is that of rows that count as those of s do.
func tallyOf(s *checked.Sample, variants int) *tally {
	if s.Weight != nil {
		return newTally(variants, s.Classes, fixedPoint)
	}
	return newTally(variants, s.Classes, 1)
}

// add counts |r| of class c, of a row of weight w > 0, which is whole where the unit is 1.
func (t *tally) add(variant, c int, r, w float64) {
	at := variant*t.classes + c
	if t.unit == 1 {
		t.sum[at] += int64(w) * int64(r*fixedPoint+.5)
		t.weight[at] += int64(w)
	} else {
		t.sum[at] += int64(w*r*fixedPoint + .5)
		t.weight[at] += int64(w*t.unit + .5)
	}
	t.most[at] = max(t.most[at], r)
}

// empty is a tally of the same variants that has counted nothing.
func (t *tally) empty() *tally { return newTally(t.variants, t.classes, t.unit) }

// addNorm counts Σ_c |r_ic| of a row.
func (t *tally) addNorm(variant int, norm float64) {
	t.mostNorm[variant] = max(t.mostNorm[variant], norm)
}

// merge adds the counts of u, in any order of calls.
func (t *tally) merge(u *tally) {
	t.lock.Lock()
	defer t.lock.Unlock()
	for i := range t.sum {
		t.sum[i] += u.sum[i]
		t.weight[i] += u.weight[i]
		t.most[i] = max(t.most[i], u.most[i])
	}
	for v := range t.mostNorm {
		t.mostNorm[v] = max(t.mostNorm[v], u.mostNorm[v])
	}
}

// values of a variant under class weights w_c of sum 1; see [binned.summarize].
func (t *tally) values(variant int, w []float64, p Protocol) (lce, mlce float64) {
	var measured float64
	for c, w := range w {
		at := variant*t.classes + c
		if t.weight[at] == 0 {
			continue
		}
		lce += w * float64(t.sum[at]) / fixedPoint / (float64(t.weight[at]) / t.unit)
		mlce += w * t.most[at]
		measured += w
	}
	if measured == 0 {
		return math.NaN(), math.NaN()
	}
	if p == Formula {
		return lce / measured, t.mostNorm[variant]
	}
	return lce / measured, mlce / measured
}

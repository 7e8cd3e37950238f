package metrics

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"calibra/experiments/internal/checked"
)

// anchorRows are the rows at which the local metrics are measured, each against all rows: N·A
// kernels in place of N². They are a stratified sample: every N/A-th row in the order of the
// bins of the top confidence, shuffled within each bin. It errs less
// than a plain sample.
type anchorRows struct {
	order []int  // all rows, the anchors first, in the order of their bins
	is    []bool // N
	count int    // A
}

// AnchorSample records at how many rows LCE was measured, and its standard error over them.
type AnchorSample struct {
	Rows int     `json:"rows"`
	SE   float64 `json:"se"` // of LCE; 0 where every row was an anchor
}

// drawAnchors is nil where all rows are measured at.
func (b *binned) drawAnchors() *anchorRows {
	count := b.settings.Anchors
	if count <= 0 || count >= b.N {
		return nil
	}
	rng := rand.New(rand.NewPCG(b.settings.AnchorSeed, 7))
	sorted := rng.Perm(b.N)
	slices.SortStableFunc(sorted, func(i, j int) int { return cmp.Compare(b.topBin(i), b.topBin(j)) })
	a := &anchorRows{is: make([]bool, b.N), count: count}
	for k := range count {
		i := sorted[(2*k+1)*b.N/(2*count)]
		a.order, a.is[i] = append(a.order, i), true
	}
	for i, is := range a.is {
		if !is {
			a.order = append(a.order, i)
		}
	}
	return a
}

// receivers is at how many rows the kernel is summed.
func (b *binned) receivers() int {
	if b.anchors != nil {
		return b.anchors.count
	}
	return b.N
}

// receiversOf is how many of the rows of order, which begins with them, are anchors.
func (b *binned) receiversOf(order []int) int {
	if b.anchors == nil {
		return len(order)
	}
	n := 0
	for n < len(order) && b.anchors.is[order[n]] {
		n++
	}
	return n
}

// firstOrder is all rows in the order in which they meet each other.
func (b *binned) firstOrder() []int {
	if b.anchors != nil {
		return b.anchors.order
	}
	return checked.FirstToLast(b.N)
}

// anchorStratum is how many anchors, neighbours in their order, make a stratum.
const anchorStratum = 16

// anchorError is the standard error of the mean by weight of shares (N, 0 but at the anchors), by the
// variance within strata h of neighbouring anchors:
//
//	(1 − A/N)/A² Σ_h n_h s_h²
func (b *binned) anchorError(shares []float64) float64 {
	a, n := b.anchors, float64(b.N)
	var anchored float64 // Σ w of the anchors
	for _, i := range a.order[:a.count] {
		anchored += b.W(i)
	}
	m, total := b.Mean(shares), b.Total()
	at := func(i int) float64 { // see plain
		x := shares[i] * anchored / total
		if b.Weight != nil {
			x = m + b.W(i)*float64(a.count)/anchored*(x-m)
		}
		return x
	}
	variance := 0.0
	for lo := 0; lo < a.count; lo += anchorStratum {
		hi := min(lo+anchorStratum, a.count)
		if hi-lo < 2 {
			lo = max(hi-2, 0)
		}
		var sum, squares float64
		for _, i := range a.order[lo:hi] {
			x := at(i)
			sum += x
			squares += x * x
		}
		size := float64(hi - lo)
		if size > 1 {
			variance += size * max(squares-sum*sum/size, 0) / (size - 1)
		}
	}
	return math.Sqrt((1-float64(a.count)/n)*variance) / float64(a.count)
}

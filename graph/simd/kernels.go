package simd

import "math"

// kernels are the assembly of one instruction set. Its portable form defines what each computes.
type kernels struct {
	exp, sigmoid, lgamma, digamma  func(dst, x *float32, n int)
	softplus                       func(dst, x *float32, n int, epsilon float32)
	softplusSigmoid                func(alpha, sigma, a *float32, n int, epsilon float32)
	lgammaDigamma                  func(lg, psi, x *float32, n int)
	softplus64                     func(dst, x *float64, n int, epsilon float64)
	lgamma64, expNegative64, log64 func(dst, x *float64, n int)
	gaussianRow                    func(row, sq *float32, n int, si, scale float32)
	mulAdd                         func(y, a, x *float32, n int)
	times, greatest                func(y, x *float32, n int)
	expLess                        func(p, sum, x, most *float32, n int)

	dot           func(x, y *float32, n int) float32
	dots          func(y, m, b *float32, rows, n int)
	less          func(z, x *float32, c *float64, n int) // n a multiple of 8
	lessMost      func(z, x *float32, rows, c int)
	outer         func(m, a, b *float32, rows, c int)
	takeRows      func(y, table *float32, list *int32, count, stride, n, ahead int)
	addToRows     func(table, x *float32, codes *int32, slots, stride, next, n int)
	sumRows       func(y, table *float32, codes *int32, slots, stride, next, n int)
	sumShares     func(y, table *float32, places *int32, shares *float32, count, stride, n int)
	sumSharesFour func(y0, y1, y2, y3, table *float32, p0, p1, p2, p3 *int32, s0, s1, s2, s3 *float32, count, stride, n int)
	mostCode      func(codes *int32, n int) uint32 // n a multiple of 16
	addShares     func(table, x *float32, places *int32, shares *float32, count, stride, n int)
	adam          func(theta, grad, m, v *float32, n int, beta1, rest1, beta2, rest2, decay, shrink, rate, scale, epsilon float32)

	scoreSums    func(sum, rest, alpha, lg, logp *float32, rows, c int)
	columnSums   func(sum, alpha *float32, rows, c int)
	slopes       func(slope, psi, psiSum, gradient, logp *float32, rows, c int)
	scaleColumns func(x, gradient *float32, rows, c int)

	nearestTwo    func(codes *int32, least, second, scores, x, words, half *float32, groups, d int, ahead *float32, lines int) float32
	screenTiles   func(j *screenJob)
	plus          func(z, x, y *float32, n int)
	quantizeSlots func(pairs *uint32, rough *float32, x **float32, d, groups int, most, square, step float32)
	nearestPairs  func(codes *int32, unsure *uint16, x, words, index *uint32, groups, depth int, mask, limit uint32,
		ahead **float32, lines int)
	// marks is a number only in its bits
	leastScores func(least, scores *float32, words, levels int, marks float32)

	singles *gemmKernels[float32]
	doubles *gemmKernels[float64]
}

// Each function below runs the kernel of the instruction set, or the portable form where there is
// none. Where one does not check for empty slices, it must get none.

// apply computes dst from x, of one length, by the kernel k, or in Go where this processor has none.
func apply[F float](name string, k func(dst, x *F, n int), portable func(dst, x []F), dst, x []F) {
	sameLength(name, len(dst), len(x))
	if k != nil && len(x) > 0 {
		k(&dst[0], &x[0], len(x))
	} else {
		portable(dst, x)
	}
}

func softplusKernel(dst, x []float32, epsilon float32) {
	if k := sets[isa].softplus; k != nil && len(x) > 0 {
		k(&dst[0], &x[0], len(x), epsilon)
	} else {
		softplusPortable(dst, x, epsilon)
	}
}

func softplusSigmoidKernel(alpha, sigma, a []float32, epsilon float32) {
	if k := sets[isa].softplusSigmoid; k != nil && len(a) > 0 {
		k(&alpha[0], &sigma[0], &a[0], len(a), epsilon)
	} else {
		softplusSigmoidPortable(alpha, sigma, a, epsilon)
	}
}

func lgammaDigammaKernel(lg, psi, x []float32) {
	if k := sets[isa].lgammaDigamma; k != nil && len(x) > 0 {
		k(&lg[0], &psi[0], &x[0], len(x))
	} else {
		lgammaDigammaPortable(lg, psi, x)
	}
}

func lessKernel(z, x []float32, c []float64) {
	n := 0
	if k := sets[isa].less; k != nil {
		if n = len(x) &^ 7; n > 0 {
			k(&z[0], &x[0], &c[0], n)
		}
	}
	lessPortable(z[n:], x[n:], c[n:])
}

func nearestTwoKernel(t *slotTile, c *Codebook, next []float32, lines int) float32 {
	if k := sets[isa].nearestTwo; k != nil {
		return k(&t.codes[0], &t.least[0], &t.second[0], &t.scores[0], &t.turned[0], &c.turned[0], &c.half[0], len(c.half)/wordsAtATime(), c.d, &next[0], lines)
	}
	return nearestTwoPortable(t, c)
}

func leastScoresKernel(least, scores []float32, words, levels, marked int) {
	if k := sets[isa].leastScores; k != nil {
		k(&least[0], &scores[0], words, levels, math.Float32frombits(^uint32(0)<<marked))
	} else {
		leastScoresPortable(least, scores, words, levels, marked)
	}
}

func sumRowsKernel(y, table []float32, codes []int32, rows int) {
	if k := sets[isa].sumRows; k != nil {
		k(&y[0], &table[0], &codes[0], len(codes), 4*len(y), 4*rows*len(y), len(y))
	} else {
		sumRowsPortable(y, table, codes, rows)
	}
}

// sumSharesKernel adds lists of places, of narrow rows four at a time: one that has come to its end makes room for the
// next.
func sumSharesKernel(y, table []float32, c int, begin int32, ends, places []int32, shares []float32) {
	k := &sets[isa]
	if k.sumShares == nil {
		sumSharesPortable(y, table, c, begin, ends, places, shares)
		return
	}
	next := 0
	take := func() (l placeList, ok bool) {
		for ; next < len(ends) && !ok; next++ {
			l, ok = placeList{next * c, begin, ends[next]}, begin < ends[next]
			begin = ends[next]
		}
		return l, ok
	}
	var lists [4]placeList
	held := 0
	for k.sumSharesFour != nil && c <= narrowRow {
		for ok := true; held < len(lists) && ok; {
			if lists[held], ok = take(); ok {
				held++
			}
		}
		if held < len(lists) {
			break
		}
		a, b, d, e := lists[0], lists[1], lists[2], lists[3]
		count := min(a.end-a.at, b.end-b.at, d.end-d.at, e.end-e.at)
		k.sumSharesFour(&y[a.y], &y[b.y], &y[d.y], &y[e.y], &table[0], &places[a.at], &places[b.at], &places[d.at], &places[e.at],
			&shares[a.at], &shares[b.at], &shares[d.at], &shares[e.at], int(count), 4*c, c)
		held = 0
		for _, l := range lists {
			if l.at += count; l.at < l.end {
				lists[held] = l
				held++
			}
		}
	}
	one := func(l placeList) {
		k.sumShares(&y[l.y], &table[0], &places[l.at], &shares[l.at], int(l.end-l.at), 4*c, c)
	}
	for _, l := range lists[:held] {
		one(l)
	}
	for l, ok := take(); ok; l, ok = take() {
		one(l)
	}
}

// placeList is where a list of places goes on and ends, and the number of y at which its sum begins.
type placeList struct {
	y       int
	at, end int32
}

// narrowRow is up to how many numbers of a row sumShares has too few sums under way to be fast.
const narrowRow = 32

// WideRow is how many numbers a row of c should have for [SumShares]: of narrow ones whole vectors.
func WideRow(c int) int {
	if k := &sets[isa]; k.sumSharesFour != nil && c <= narrowRow {
		return ceil(c, k.singles.lanes) * k.singles.lanes
	}
	return c
}

func scoreSumsKernel(sum, rest, alpha, lg, logp []float32) {
	if k := sets[isa].scoreSums; k != nil {
		k(&sum[0], &rest[0], &alpha[0], &lg[0], &logp[0], len(logp), len(sum))
	} else {
		scoreSumsPortable(sum, rest, alpha, lg, logp)
	}
}

func columnSumsKernel(sum, alpha []float32) {
	if k := sets[isa].columnSums; k != nil {
		k(&sum[0], &alpha[0], len(alpha)/len(sum), len(sum))
	} else {
		columnSumsPortable(sum, alpha)
	}
}

func slopesKernel(slope, psi, psiSum, g, logp []float32) {
	if k := sets[isa].slopes; k != nil {
		k(&slope[0], &psi[0], &psiSum[0], &g[0], &logp[0], len(logp), len(g))
	} else {
		slopesPortable(slope, psi, psiSum, g, logp)
	}
}

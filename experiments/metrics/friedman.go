package metrics

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Ranking compares methods over several data sets by their ranks (Demšar 2006).
type Ranking struct {
	Ranks []float64 // mean rank of each method, 1 the best
	// PValue is that of no difference between the methods (Friedman 1937): the chance
	// that ranks shuffled within each data set agree as much, counted in full where the
	// shuffles are few enough, else from the F statistic of Iman and Davenport (1980),
	// which a handful of data sets and methods would make up to 13 times too small.
	PValue float64
	// CriticalDifference is by how much two mean ranks must differ to be told apart at
	// the 5 % level (Nemenyi 1963).
	CriticalDifference float64
}

// Friedman ranks methods on every data set; equal scores share their ranks. scores
// holds a row for each data set with one finite score for each method, smaller
// being better.
func Friedman(scores [][]float64) (*Ranking, error) {
	n := len(scores)
	if n < 2 || len(scores[0]) < 2 {
		return nil, fmt.Errorf("metrics: friedman: ranks need two data sets and two methods or more")
	}
	k := len(scores[0])
	r := &Ranking{Ranks: make([]float64, k)}
	doubled := make([][]int, n)
	for i, row := range scores {
		if len(row) != k {
			return nil, fmt.Errorf("metrics: friedman: data set %d has %d scores, not %d", i, len(row), k)
		}
		if j := slices.IndexFunc(row, func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }); j >= 0 {
			return nil, fmt.Errorf("metrics: friedman: the score of method %d on data set %d is %v", j, i, row[j])
		}
		doubled[i] = doubledRanks(row)
		for j, rank := range doubled[i] {
			r.Ranks[j] += float64(rank) / float64(2*n)
		}
	}
	methods, sets := float64(k), float64(n)
	var known bool
	if r.PValue, known = shuffledAgreement(doubled); !known {
		r.PValue = imanDavenport(doubled)
	}
	r.CriticalDifference = studentizedRange(k, 0.05) / math.Sqrt2 * math.Sqrt(methods*(methods+1)/(6*sets))
	return r, nil
}

// Ranks are the ranks of x, 1 the least; equal numbers share their mean rank.
func Ranks(x []float64) []float64 {
	ranks := make([]float64, len(x))
	for i, r := range doubledRanks(x) {
		ranks[i] = float64(r) / 2
	}
	return ranks
}

// doubledRanks are twice the ranks of x, which are whole where two share one.
func doubledRanks(x []float64) []int {
	ranks := make([]int, len(x))
	for i := range x {
		ranks[i] = 1
		for _, y := range x {
			ranks[i] += 1 + cmp.Compare(x[i], y) // 2 of one below, 1 of an equal one
		}
	}
	return ranks
}

// mostShuffles bounds the sums of ranks that shuffledAgreement goes through, a tenth of a
// second: three methods on ninety data sets, four on eighteen, five on seven.
const mostShuffles = 1 << 19

// shuffledAgreement is the chance of Σ_j (Σ_i r_ij − n(k+1)/2)² as large as it is of ranks
// r, given twice, that are shuffled within each data set. It is not known where there are
// too many shuffles to go through them all.
func shuffledAgreement(doubled [][]int) (p float64, known bool) {
	k := len(doubled[0])
	// The sums of the methods' ranks over the data sets so far, in ascending order, as all
	// methods are alike here, with their chances.
	sums := []rankSums{{slices.Sorted(slices.Values(doubled[0])), 1}}
	left := mostShuffles
	for _, ranks := range doubled[1:] {
		orders := orders(ranks, left/len(sums))
		if orders == nil {
			return 0, false
		}
		left -= len(sums) * len(orders)
		sums = shuffled(sums, orders)
	}
	observed := make([]int, k)
	for _, ranks := range doubled {
		for j, r := range ranks {
			observed[j] += r
		}
	}
	squares := func(sums []int) (s int) {
		for _, sum := range sums {
			d := sum - len(doubled)*(k+1)
			s += d * d
		}
		return s
	}
	least := squares(observed)
	for _, o := range sums {
		if squares(o.sums) >= least {
			p += o.chance
		}
	}
	return min(p, 1), true
}

// rankSums are sums of ranks, ascending, with their chance.
type rankSums struct {
	sums   []int
	chance float64
}

// shuffled are the sums with one more data set, whose ranks are in any of the orders.
func shuffled(before []rankSums, orders [][]int) (after []rankSums) {
	k, at := len(orders[0]), map[string]int{}
	sums, key := make([]int, k), make([]byte, 0, 4*k)
	for _, o := range before {
		for _, order := range orders {
			for j := range sums {
				sums[j] = o.sums[j] + order[j]
			}
			slices.Sort(sums)
			key = key[:0]
			for _, sum := range sums {
				key = binary.AppendUvarint(key, uint64(sum))
			}
			to, seen := at[string(key)]
			if !seen {
				to = len(after)
				at[string(key)] = to
				after = append(after, rankSums{sums: slices.Clone(sums)})
			}
			after[to].chance += o.chance / float64(len(orders))
		}
	}
	return after
}

// orders are the different orders of x, or nil if they are more than most.
func orders(x []int, most int) (all [][]int) {
	order := slices.Sorted(slices.Values(x))
	count, run := 1., 0. // k!/Π t! of runs of t equals
	for i, v := range order {
		if run++; i > 0 && v != order[i-1] {
			run = 1
		}
		count *= float64(i+1) / run
	}
	if count > float64(most)+.5 {
		return nil
	}
	for {
		all = append(all, slices.Clone(order))
		// the next one by the alphabet: raise the last that can be, sort what follows
		i := len(order) - 2
		for i >= 0 && order[i] >= order[i+1] {
			i--
		}
		if i < 0 {
			return all
		}
		j := len(order) - 1
		for order[j] <= order[i] {
			j--
		}
		order[i], order[j] = order[j], order[i]
		slices.Reverse(order[i+1:])
	}
}

// imanDavenport is the p-value of ranks, given twice, from
//
//	F = (n − 1) W/(1 − W),   W = Σ_j (r̄_j − r̄)² / (1/n Σ_ij (r_ij − r̄)²),
//
// of k − 1 and (k − 1)(n − 1) degrees of freedom; W is Kendall's coefficient of concordance
// with ties. No p-value lies below (k!)^(1−n), the chance of all data sets agreeing in full.
func imanDavenport(doubled [][]int) float64 {
	n, k := float64(len(doubled)), float64(len(doubled[0]))
	means := make([]float64, len(doubled[0]))
	var between, within float64
	for _, ranks := range doubled {
		for j, r := range ranks {
			means[j] += float64(r) / 2 / n
			within += (float64(r) - k - 1) * (float64(r) - k - 1) / 4 / n
		}
	}
	for _, rank := range means {
		between += (rank - (k+1)/2) * (rank - (k+1)/2)
	}
	if within == 0 { // all methods share one rank everywhere
		return 1
	}
	var p float64
	if w := between / within; w < 1-1e-9 {
		p = distuv.F{D1: k - 1, D2: (k - 1) * (n - 1)}.Survival((n - 1) * w / (1 - w))
	}
	orders, _ := math.Lgamma(k + 1)
	return max(p, math.Exp(-(n-1)*orders))
}

// studentizedRange is the upper α quantile of the range of k standard normals,
//
//	P(range ≤ q) = k ∫ φ(x) (Φ(x) − Φ(x − q))^(k−1) dx
//
// by the trapezoidal rule, which for this integrand converges geometrically, and
// bisection.
func studentizedRange(k int, alpha float64) float64 {
	below := func(q float64) float64 {
		const step = 1. / 64
		var sum float64
		for x := -9.; x <= 9+q; x += step {
			between := distuv.UnitNormal.CDF(x) - distuv.UnitNormal.CDF(x-q)
			sum += distuv.UnitNormal.Prob(x) * math.Pow(between, float64(k-1))
		}
		return float64(k) * sum * step
	}
	lo, hi := 0., 20.
	for hi-lo > 1e-9 {
		if q := (lo + hi) / 2; below(q) < 1-alpha {
			lo = q
		} else {
			hi = q
		}
	}
	return lo
}

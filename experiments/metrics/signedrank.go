package metrics

import (
	"cmp"
	"math"
	"slices"
)

// SignedRank is the exact two-sided p-value of Wilcoxon's signed-rank test that differences
// of two methods, one a data set, are as often above 0 as below: the share of the 2ⁿ sign
// patterns whose rank sum lies as far from its mean as the observed one. Differences of 0
// are left out, equal sizes share their mean rank. It is 1 without a difference, and NaN if
// one is NaN or there are more than 25.
func SignedRank(differences []float64) float64 {
	d := slices.DeleteFunc(slices.Clone(differences), func(x float64) bool { return x == 0 })
	if slices.ContainsFunc(d, math.IsNaN) || len(d) > 25 {
		return math.NaN()
	}
	sizes := make([]float64, len(d))
	for i, x := range d {
		sizes[i] = math.Abs(x)
	}
	rank := doubledRanks(sizes)
	observed, total := 0, 0
	for i, x := range d {
		total += rank[i]
		if x > 0 {
			observed += rank[i]
		}
	}
	ways := make([]float64, total+1) // of reaching a sum by the signs of the ranks so far
	ways[0] = 1
	for _, r := range rank {
		for sum := total; sum >= r; sum-- {
			ways[sum] += ways[sum-r]
		}
	}
	far := abs(2*observed - total)
	var as float64
	for sum, n := range ways {
		if abs(2*sum-total) >= far {
			as += n
		}
	}
	return as / math.Exp2(float64(len(d)))
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

func abs(n int) int { return max(n, -n) }

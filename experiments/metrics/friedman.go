package metrics

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Ranking compares methods over several data sets by their ranks (Demšar 2006).
type Ranking struct {
	Ranks []float64 // mean rank of each method, 1 the best
	// PValue is that of no difference between the methods: the statistic of Iman and
	// Davenport (1980) of Friedman's test.
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
	for i, row := range scores {
		if len(row) != k {
			return nil, fmt.Errorf("metrics: friedman: data set %d has %d scores, not %d", i, len(row), k)
		}
		for j, x := range row {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return nil, fmt.Errorf("metrics: friedman: the score of method %d on data set %d is %v", j, i, x)
			}
			below, equal := 0, 0
			for _, y := range row {
				if y < x {
					below++
				} else if y == x {
					equal++
				}
			}
			r.Ranks[j] += (float64(below) + float64(equal+1)/2) / float64(n)
		}
	}
	methods, sets := float64(k), float64(n)
	var squares float64
	for _, rank := range r.Ranks {
		squares += (rank - (methods+1)/2) * (rank - (methods+1)/2)
	}
	chi := 12 * sets / (methods * (methods + 1)) * squares
	r.PValue = 0 // all data sets agree in full
	if rest := sets*(methods-1) - chi; rest > 1e-9 {
		r.PValue = distuv.F{D1: methods - 1, D2: (methods - 1) * (sets - 1)}.Survival((sets - 1) * chi / rest)
	}
	r.CriticalDifference = studentizedRange(k, 0.05) / math.Sqrt2 * math.Sqrt(methods*(methods+1)/(6*sets))
	return r, nil
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

// Alike lists, for methods sorted by rank, the longest runs whose ranks differ by less
// than the critical difference, as indices of Ranks, two or more each.
func (r *Ranking) Alike() [][]int {
	order := firstToLast(len(r.Ranks))
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(r.Ranks[i], r.Ranks[j]) })
	var runs [][]int
	end := 0
	for i := range order {
		j := i
		for j+1 < len(order) && r.Ranks[order[j+1]]-r.Ranks[order[i]] < r.CriticalDifference {
			j++
		}
		if j > i && j+1 > end {
			runs, end = append(runs, order[i:j+1]), j+1
		}
	}
	return runs
}

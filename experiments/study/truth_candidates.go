package study

import (
	"maps"
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// nearest are the k rows nearest to row i; of equal ones the first.
func nearest(z *mat.Dense, i, k int) (rows []int) {
	var distances []float64
	n, _ := z.Dims()
	for j := range n {
		if j == i {
			continue
		}
		d := floats.Distance(z.RawRowView(i), z.RawRowView(j), 2)
		if len(rows) == k {
			if d >= distances[k-1] {
				continue
			}
			rows, distances = rows[:k-1], distances[:k-1]
		}
		at := sort.Search(len(distances), func(m int) bool { return distances[m] > d })
		rows, distances = slices.Insert(rows, at, j), slices.Insert(distances, at, d)
	}
	return rows
}

// calibrationError is mean ‖E[p − q | p]‖² for the true posterior q, the calibration error proper, without the grouping loss that
// ‖p − q‖² holds too; with regions (N, nil for none) mean ‖E[p − q | p, region]‖². As the local error below it is a U-statistic, over pairs
// of rows of one region that are near in √p, so that what q varies among rows of one p does not count.
func calibrationError(logProbs, truth *mat.Dense, region []int) (value float64) {
	n, c := logProbs.Dims()
	rows := map[int][]int{}
	for i := range n {
		k := 0
		if region != nil {
			k = region[i]
		}
		rows[k] = append(rows[k], i)
	}
	off := func(i int) []float64 {
		e := make([]float64, c)
		for k, l := range logProbs.RawRowView(i) {
			e[k] = math.Exp(l) - truth.At(i, k)
		}
		return e
	}
	for _, k := range slices.Sorted(maps.Keys(rows)) {
		in := rows[k]
		if len(in) < 2 {
			continue
		}
		said := mat.NewDense(len(in), c, nil)
		for at, i := range in {
			for k, l := range logProbs.RawRowView(i) {
				said.Set(at, k, math.Exp(l/2)) // Hellinger's distance
			}
		}
		for at, i := range in {
			near := nearest(said, at, min(targetNeighbours, len(in)-1))
			for _, j := range near {
				value += floats.Dot(off(i), off(in[j])) / float64(len(near)*n)
			}
		}
	}
	return value
}

// targetNeighbours are the rows whose mean is E[· | p], and targetRegions the codewords of E[· | p, region].
const (
	targetNeighbours = 15
	targetRegions    = 8
)

// squaredError is a U-statistic of the squared local error ‖E[e | z]‖², with its standard error:
//
//	T = 1/n Σ_i h_i ,  h_i = 1/k Σ_{j∈N_k(i)} e_iᵀe_j ,  e_i = p_i − 1[y_i]
//
// The mean of T is 0 for calibrated predictions, as residuals of two rows are independent. The standard error
// is the jackknife's over rows, 2 sd(g)/√n, with g_i the mean of e_iᵀe_j over the pairs in which i
// is either row; where nothing is wrong, and T is degenerate, it is up to √2 too large.
func squaredError(z, logProbs *mat.Dense, labels []int, k int) (value, se float64) {
	n, c := logProbs.Dims()
	e := mat.NewDense(n, c, nil)
	for i := range n {
		for j, l := range logProbs.RawRowView(i) {
			e.Set(i, j, math.Exp(l))
		}
		e.Set(i, labels[i], e.At(i, labels[i])-1)
	}
	g := make([]float64, n)
	for i := range n {
		near := nearest(z, i, min(k, n-1))
		for _, j := range near {
			x := floats.Dot(e.RawRowView(i), e.RawRowView(j)) / float64(len(near))
			value += x / float64(n)
			g[i] += x / 2
			g[j] += x / 2
		}
	}
	for _, x := range g {
		se += (x - value) * (x - value)
	}
	return value, 2 * math.Sqrt(se) / float64(n)
}

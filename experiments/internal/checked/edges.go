package checked

import (
	"slices"
	"sort"
)

// OnEdge is how near to an edge a probability p counts as on it. Equal probabilities are apart by what rounding left
// of them: a few 1e-16 as logarithms of float64, 2⁻²⁴ in float32, 3e-6 where rows of three classes in six decimals were
// normalized. Near 1 the other classes tell rows apart by 1 − p.
func OnEdge(p float64) float64 { return p*0x1p-18*min(1, 100*max(0, 1-p)) + 1e-12 }

// QuantileEdges are the bins+1 quantiles 0, 1/bins, …, 1 of x by linear
// interpolation of the order statistics (type 7 of Hyndman and Fan 1996). The
// position k(n−1)/bins is kept as an integer fraction, so that an edge which falls
// on a value equals it.
func QuantileEdges(x []float64, bins int) []float64 {
	sorted := slices.Clone(x)
	slices.Sort(sorted)
	edges := make([]float64, bins+1)
	for k := range edges {
		position := k * (len(sorted) - 1)
		i, fraction := position/bins, float64(position%bins)/float64(bins)
		edges[k] = sorted[i]
		if fraction > 0 {
			edges[k] += fraction * (sorted[i+1] - sorted[i])
		}
	}
	return edges
}

// QuantileBins puts each value into one of the quantile bins of x, bin k being
// (q_k, q_{k+1}] and the first one closed.
func QuantileBins(x []float64, bins int) []int {
	edges := QuantileEdges(x, bins)
	bin := make([]int, len(x))
	for i, v := range x {
		below := sort.SearchFloat64s(edges, v-OnEdge(v))
		bin[i] = min(max(below-1, 0), bins-1)
	}
	return bin
}

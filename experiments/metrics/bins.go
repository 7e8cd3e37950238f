package metrics

import (
	"math"
	"sort"

	"calibra/experiments/internal/checked"
)

// assign puts each probability into a bin and returns the indices: bin k is
// [e_k, e_{k+1}), the last one closed.
func assign(p, weights []float64, bins int, how Binning) []uint16 {
	bin := make([]uint16, len(p))
	switch how {
	case EqualWidth:
		for i, x := range p {
			k := int(math.Floor((x + checked.OnEdge(x)) * float64(bins)))
			bin[i] = uint16(min(max(k, 0), bins-1))
		}
	case Quantile:
		edges := weightedEdges(p, weights, bins)
		for i, x := range p {
			// the first edge above x closes its bin
			k := sort.Search(len(edges), func(k int) bool { return edges[k] > x+checked.OnEdge(x) }) - 1
			bin[i] = uint16(min(max(k, 0), bins-1))
		}
	}
	return bin
}

// weightedEdges are quantileEdges of values that count by their weights: each begins where
// those below it end, and an edge lies between two values as it lies between their beginnings.
func weightedEdges(x, weights []float64, bins int) []float64 {
	if weights == nil {
		return checked.QuantileEdges(x, bins)
	}
	order := checked.Ascending(x)
	begins := make([]float64, len(x))
	for k := 1; k < len(order); k++ {
		begins[k] = begins[k-1] + weights[order[k-1]]
	}
	edges, at := make([]float64, bins+1), 0
	for k := range edges {
		position := float64(k) / float64(bins) * begins[len(begins)-1]
		for at+1 < len(begins) && begins[at+1] <= position*(1+1e-12) { // but for rounding
			at++
		}
		edges[k] = x[order[at]]
		if at+1 < len(begins) {
			part := math.Max(0, position-begins[at]) / weights[order[at]]
			edges[k] += part * (x[order[at+1]] - x[order[at]])
		}
	}
	return edges
}

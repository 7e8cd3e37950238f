package cli

import (
	"fmt"
	"math"
	"slices"

	"calibra/experiments"
	"calibra/experiments/metrics"
)

// runTable is one line for each run: the metrics of the paper's tables, codeword usage of
// the test rows, and the time of the fit.
func runTable(runs []*experiments.Run) *table {
	t := &table{columns: []column{
		{head: "method", key: "method", left: true},
		{head: "LCE", key: "lce"}, {head: "MLCE", key: "mlce", drop: 2}, {head: "LCE own", key: "lce_own", drop: 4},
		{head: "ECCE", key: "ecce", drop: 3}, {head: "ECE", key: "ece"}, {head: "ACC", key: "accuracy"}, {head: "NLL", key: "nll"},
		{head: "codewords min / max / dead", key: "codewords", drop: 6}, {head: "seconds", key: "seconds", drop: 1},
	}}
	for _, r := range runs {
		m := r.Outcome.Metrics.Values
		own := math.NaN()
		if r.Outcome.OwnMetrics != nil {
			own = r.Outcome.OwnMetrics.Values[metrics.LCE]
		}
		t.add(words(r.Spec.Method), decimals(m[metrics.LCE], 5), decimals(m[metrics.MLCE], 4), decimals(own, 5),
			decimals(m[metrics.ECCE], 5), decimals(m[metrics.ECE], 5), decimals(m[metrics.Accuracy], 4), decimals(m[metrics.NLL], 4),
			usage(r.Usage), decimals(r.Fit.Seconds(), 1))
	}
	return t
}

// usage is the fewest and the most test slots of a codeword, and how many have none.
func usage(counts []int) cell {
	if counts == nil {
		return cell{text: "–", look: aside}
	}
	dead := 0
	for _, n := range counts {
		if n == 0 {
			dead++
		}
	}
	return cell{text: fmt.Sprintf("%d / %d / %d", slices.Min(counts), slices.Max(counts), dead), value: counts}
}

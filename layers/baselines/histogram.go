package baselines

import (
	"cmp"
	"fmt"
	"math"

	"calibra/data"
	"calibra/layers"
)

// Histogram is one-vs-rest histogram binning (Zadrozny and Elkan 2001): p̂_k becomes
// the frequency of class k among the calibration rows of its bin, the results divided
// by their sum. The bins are those of equal size, cut at the quantiles of p̂_k; equal
// probabilities stay in one bin, so there may be fewer than asked for. A bin ends between its largest
// probability and the next bin's least, see [above]. Each class has so many bins; 0: 15.
func Histogram(bins int) *Classwise {
	return &Classwise{name: "histogram", value: steps.bin, network: stepsONNX.bin, begin: func(*data.Set) (learn, error) {
		bins := cmp.Or(bins, 15)
		if bins < 0 {
			return nil, &layers.SettingError{Reason: fmt.Sprintf("%d bins make no histogram; choose at least 1", bins)}
		}
		return func(p []value, hit, weights []float64) (steps, error) { return histogram(p, hit, weights, bins), nil }, nil
	}}
}

// histogram is the mean target in bins of equal weight of x (weights nil: of equal size). The x of
// a step is its bin's end. A bin ends with the row that reaches its last whole row.
func histogram(x []value, target, weights []float64, bins int) steps {
	var s steps
	all, seen, at := totalOf(weights, len(target)), 0.0, 0
	for b := range bins {
		end := math.Floor(float64(b+1)*all/float64(bins) + rounding)
		if b == bins-1 {
			end = all
		}
		if end <= seen+rounding {
			continue // equal values, or heavy ones, have taken the whole bin
		}
		var sum, weight float64
		for ; at < len(x) && seen+weight < end-rounding; at++ {
			for _, i := range x[at].rows {
				w := weightOf(weights, i)
				sum += w * target[i]
				weight += w
			}
		}
		if weight == 0 {
			continue
		}
		s.x, s.y = append(s.x, above(x, at-1)), append(s.y, sum/weight)
		seen += weight
	}
	return s
}

// rounding is far more than what sums of weights lose, and far less than a row.
const rounding = 1e-9

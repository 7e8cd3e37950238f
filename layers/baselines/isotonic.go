package baselines

import (
	"calibra/data"
	"calibra/optim/pav"
)

// Isotonic is one-vs-rest isotonic regression (Zadrozny and Elkan 2002): for each
// class the non-decreasing function of p̂_k that is closest to 1[y = k] in squares,
// linear between its thresholds and constant outside, the results divided by their
// sum. A row whose classes are all 0 becomes uniform. Probabilities of exactly 0 and
// 1 are common.
func Isotonic() *Classwise {
	return &Classwise{name: "isotonic", value: steps.at, network: stepsONNX.line, begin: func(cal *data.Set) (learn, error) {
		equal := tiesOf(cal)
		return func(p []value, hit, weights []float64) (steps, error) { return isotonic(p, hit, weights, equal), nil }, nil
	}}
}

// isotonic is the isotonic regression of target on x by pooling adjacent violators,
// by weights (nil: 1 each). Rows of one value are averaged first. Of each pool its two
// ends are kept, between which the function is constant, as far out as what t takes for their value.
func isotonic(x []value, target, weights []float64, t ties) steps {
	weight, sum := make([]float64, len(x)), make([]float64, len(x))
	for k, v := range x {
		for _, i := range v.rows {
			w := weightOf(weights, i)
			weight[k] += w
			sum[k] += w * target[i]
		}
	}
	var s steps
	for _, p := range pav.Pools(nil, weight, sum) {
		lo, _ := reach(x, p.First, t.width)
		_, hi := reach(x, p.Last, t.width)
		y := p.Mean()
		s.x, s.y = append(s.x, lo), append(s.y, y)
		if hi > lo {
			s.x, s.y = append(s.x, hi), append(s.y, y)
		}
	}
	return s
}

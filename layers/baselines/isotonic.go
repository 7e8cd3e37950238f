package baselines

import (
	"context"
	"math/rand/v2"

	"calibra/data"
	"calibra/graph/onnx"
	"calibra/layers"
)

// Isotonic is one-vs-rest isotonic regression (Zadrozny and Elkan 2002): for each
// class the non-decreasing function of p̂_k that is closest to 1[y = k] in squares,
// linear between its thresholds and constant outside, the results divided by their
// sum. A row whose classes are all 0 becomes uniform. Probabilities of exactly 0 and
// 1 are common.
type Isotonic struct{ classwise }

var _ layers.Stateful = (*Isotonic)(nil)

// Fit pools adjacent violators, class by class; there is nothing to stop early, and
// interrupted it keeps nothing.
func (m *Isotonic) Fit(ctx context.Context, cal, _ *data.Set, _ *rand.Rand) error {
	return m.fit(ctx, cal, "isotonic", func(_ int, p []value, hit, weights []float64) (steps, error) {
		return isotonic(p, hit, weights, tiesOf(cal)), nil
	})
}

// Predict gives the normalized one-vs-rest values.
func (m *Isotonic) Predict(x *data.Set) (*data.Predictions, error) { return m.predict(x, steps.at) }

// ONNX is what Predict computes.
func (m *Isotonic) ONNX(g *onnx.Network) (onnx.Outputs, error) { return m.onnx(g, stepsONNX.line) }

// Restore sets the thresholds of all classes, laid end to end.
func (m *Isotonic) Restore(s layers.State) error { return m.restore(s, "isotonic") }

// isotonic is the isotonic regression of target on x by pooling adjacent violators
// (Barlow et al. 1972), by weights (nil: 1 each). Rows of one value are averaged first. Of each pool its two
// ends are kept, between which the function is constant, as far out as what t takes for their value.
func isotonic(x []value, target, weights []float64, t ties) steps {
	type pool struct{ lo, hi, weight, sum float64 }
	var pools []pool
	for at, v := range x {
		p := pool{}
		p.lo, p.hi = reach(x, at, t.width)
		for _, i := range v.rows {
			w := weightOf(weights, i)
			p.weight += w
			p.sum += w * target[i]
		}
		for len(pools) > 0 {
			before := pools[len(pools)-1]
			if before.sum*p.weight < p.sum*before.weight { // means in order
				break
			}
			p = pool{lo: before.lo, hi: p.hi, weight: before.weight + p.weight, sum: before.sum + p.sum}
			pools = pools[:len(pools)-1]
		}
		pools = append(pools, p)
	}
	var s steps
	for _, p := range pools {
		y := p.sum / p.weight
		s.x, s.y = append(s.x, p.lo), append(s.y, y)
		if p.hi > p.lo {
			s.x, s.y = append(s.x, p.hi), append(s.y, y)
		}
	}
	return s
}

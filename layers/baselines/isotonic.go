package baselines

import (
	"context"
	"math/rand/v2"

	"calibra/data"
	"calibra/graph/onnx"
	"calibra/layers"
	"calibra/optim/pav"
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

func (m *Isotonic) ONNX(g *onnx.Network) (onnx.Outputs, error) { return m.onnx(g, stepsONNX.line) }

// Restore sets the thresholds of all classes, laid end to end.
func (m *Isotonic) Restore(s layers.State) error { return m.restore(s, "isotonic") }

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

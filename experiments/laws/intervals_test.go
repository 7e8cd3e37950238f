package laws

import (
	"math"
	"testing"

	"calibra/experiments/method"
	"calibra/layers"
)

// TestIntervals: the intervals of each method that has some hold its probabilities. Those are all that are a map which
// predicts each row by itself, and mixtures of such maps.
func TestIntervals(t *testing.T) {
	q := prepare(t, problems[0].file, 7)
	if q.err != nil {
		t.Fatal(q.err)
	}
	have := 0
	for _, m := range method.All {
		bounded, ok := q.fitted(t, m, 7, "").(layers.Bounded)
		if !ok || bounded.Unbounded() != nil {
			continue
		}
		have++
		lower, upper, err := bounded.Bounds(t.Context(), q.prepared.Source.Cal, q.test, .9)
		if err != nil {
			t.Errorf("%s: %v", m.Name, err)
			continue
		}
		for at, l := range q.says(t, bounded) {
			const rounding = 1e-5 // of a base in float32
			i, j := at/q.test.Classes(), at%q.test.Classes()
			if low, p, high := lower.At(i, j), math.Exp(l), upper.At(i, j); !(0 <= low && low <= p+rounding && p <= high+rounding && high <= 1 && low < high) {
				t.Errorf("%s, row %d, class %d: %g lies in %g … %g", m.Name, i, j, p, low, high)
				break
			}
		}
	}
	if have < 23 {
		t.Errorf("%d methods have intervals", have)
	}
}

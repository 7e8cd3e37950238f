package report

import (
	"math"
	"testing"
)

// TestAxesAreTicked: however short an axis, three places on it are named, each with the
// number that is there.
func TestAxesAreTicked(t *testing.T) {
	for _, span := range [][2]float64{{1, 1000}, {0.1, 3}, {30, 45}, {1.02, 1.09}, {20000, 90000}} {
		ticks := logTicks{}.Ticks(math.Log10(span[0]), math.Log10(span[1]))
		if len(ticks) < 3 {
			t.Errorf("%v: only %v", span, ticks)
		}
		last := 0.
		for _, tick := range ticks {
			x := math.Pow(10, tick.Value)
			if x < span[0]*(1-1e-9) || x > span[1]*(1+1e-9) || x <= last || tick.Label == "" {
				t.Errorf("%v: tick %q at %g", span, tick.Label, x)
			}
			last = x
		}
	}
}

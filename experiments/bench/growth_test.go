package bench

import (
	"math"
	"testing"
)

// A fixed cost of 1 bends the exponent of 4ⁿ down at first; without it, it is 2.
func TestExponent(t *testing.T) {
	if e := exponent([]float64{1, 4, 16, 64}); math.Abs(e-2) > 1e-12 {
		t.Errorf("the exponent of 1, 4, 16, 64 is %g", e)
	}
	bent := []float64{1 + 1, 1 + 4, 1 + 16, 1 + 64}
	all, last := exponent(bent), exponent(bent[2:])
	if !(all < last && last < 2) {
		t.Errorf("with a fixed cost the exponent is %g, that of the last doubling %g", all, last)
	}
}

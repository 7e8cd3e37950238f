package run

import (
	"calibra/experiments/source"

	"math"
	"testing"
)

// TestExpectedOfAnchors: metrics at 4,000 of 20,000 rows take a fifth of those at all of them; of fewer rows than
// anchors they take what they took.
func TestExpectedOfAnchors(t *testing.T) {
	metrics := func(rows, anchors int) float64 {
		spec := Spec{Method: "ts", Judging: Judging{Anchors: anchors}}
		return spec.Expected(source.Size{Features: 512, Classes: 10, Tested: rows})
	}
	if got, all := metrics(20_000, 4000), metrics(20_000, 0); math.Abs(got-all/5) > 1e-12 {
		t.Errorf("at 4,000 of 20,000 rows the metrics take %v s, want a fifth of %v s", got, all)
	}
	if got, all := metrics(3000, 4000), metrics(3000, 0); got != all {
		t.Errorf("of 3,000 rows 4,000 anchors take %v s, all rows %v s", got, all)
	}
}

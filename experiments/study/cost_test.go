package study

import (
	"math"
	"testing"

	"calibra/experiments"
)

// TestCostOfAnchors: metrics at 4,000 of 20,000 rows take a fifth of those at all of them; of fewer rows than
// anchors they take what they took.
func TestCostOfAnchors(t *testing.T) {
	method, err := experiments.MethodByName("ts")
	if err != nil {
		t.Fatal(err)
	}
	metrics := func(rows, anchors int) float64 {
		size := experiments.Size{Rows: rows, Features: 512, Classes: 10}
		spec := experiments.Spec{Method: method.Name, Judging: experiments.Judging{Anchors: anchors}}
		return cost(spec, method, size) - cost(spec, method, experiments.Size{Features: 512, Classes: 10}) - method.Cost.Of(float64(rows), 512, 10)
	}
	if got, all := metrics(20_000, 4000), metrics(20_000, 0); math.Abs(got-all/5) > 1e-12 {
		t.Errorf("at 4,000 of 20,000 rows the metrics take %v s, want a fifth of %v s", got, all)
	}
	if got, all := metrics(3000, 4000), metrics(3000, 0); got != all {
		t.Errorf("of 3,000 rows 4,000 anchors take %v s, all rows %v s", got, all)
	}
}

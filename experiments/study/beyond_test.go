package study

import (
	"math"
	"testing"

	"calibra/experiments"
	"calibra/experiments/metrics"
)

// judged is a result with given losses.
func judged(method string, seed uint64, nll float64, losses ...float32) *Result {
	return &Result{Spec: experiments.Spec{Method: method, Seed: seed}, Losses: losses, Shared: map[string]float64{"nll": nll, "lce": 0.5}, Noise: map[string]float64{"lce": 0.2}}
}

// TestPairedLosses: seeds are compared with their own kind, and a difference that is
// the same in every row is certain.
func TestPairedLosses(t *testing.T) {
	a := &row{results: []*Result{judged("auto", 1, 0, 1, 2, 3, 4), judged("auto", 2, 0, 1, 1, 1, 1)}}
	b := &row{results: []*Result{judged("ts", 2, 0, 2, 2, 2, 2), judged("ts", 1, 0, 2, 3, 4, 5), judged("ts", 3, 0, 0, 0, 0, 0)}}
	difference, p, err := pairedLosses(a, b)
	if err != nil || difference != -1 || p > 0.01 {
		t.Errorf("difference %v, p %v, %v", difference, p, err)
	}
	if difference, p, err = pairedLosses(a, a); err != nil || difference != 0 || p != 1 {
		t.Errorf("with itself: difference %v, p %v, %v", difference, p, err)
	}
	if _, p, _ = pairedLosses(a, &row{}); !math.IsNaN(p) {
		t.Errorf("without results p = %v", p)
	}
}

func TestCombinedPValues(t *testing.T) {
	for _, c := range []struct {
		ps   []float64
		want float64
	}{{[]float64{0.03}, 0.03}, {[]float64{0.01, 0.02, 0.9}, 0.04}, {[]float64{0.1, 0.7}, 1}} {
		if got := combined(c.ps); got != c.want {
			t.Errorf("%v are combined to %v, not %v", c.ps, got, c.want)
		}
	}
}

func TestExcessAndSparsestFifth(t *testing.T) {
	r := judged("ts", 1, 0)
	if got := excess(metrics.LCE).of(r); math.Abs(got-0.3) > 1e-12 {
		t.Errorf("excess %v", got)
	}
	if got := sparseFifth.of(r); !math.IsNaN(got) {
		t.Errorf("without a profile: %v", got)
	}
	r.ESS = &metrics.Profile{LCE: make([]float64, profileBins), Count: make([]int, profileBins)}
	copy(r.ESS.LCE, []float64{0.1, 9, 0.4, 7})
	copy(r.ESS.Count, []int{2, 0, 1, 5})
	if got := sparseFifth.of(r); math.Abs(got-0.2) > 1e-12 { // bins 0 to 2
		t.Errorf("the sparsest fifth is %v, not 0.2", got)
	}
}

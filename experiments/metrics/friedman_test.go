package metrics

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/floats/scalar"
)

// The 5 % points of the studentized range of infinite degrees of freedom as tables
// print them, to three digits (Pearson and Hartley 1966, table 29).
func TestStudentizedRange(t *testing.T) {
	for k, want := range map[int]float64{2: 2.772, 3: 3.314, 4: 3.633, 5: 3.858, 6: 4.030, 7: 4.170, 8: 4.286, 9: 4.387, 10: 4.474} {
		if got := studentizedRange(k, 0.05); !scalar.EqualWithinAbs(got, want, 6e-4) {
			t.Errorf("k = %d: %.4f, not %.3f", k, got, want)
		}
	}
}

// Ranks: ties share, and methods that agree everywhere are told apart for sure.
func TestFriedman(t *testing.T) {
	r, err := Friedman([][]float64{{1, 2, 2, 4}, {1, 3, 2, 4}, {1, 2, 3, 4}})
	if err != nil {
		t.Fatal(err)
	}
	for j, want := range []float64{1, 2.5, 2.5, 4} {
		if !scalar.EqualWithinAbs(r.Ranks[j], want, 1e-12) {
			t.Errorf("method %d has rank %v, not %v", j, r.Ranks[j], want)
		}
	}
	// χ² = 12·3/(4·5)·4.5 = 8.1, F = 2·8.1/(9 − 8.1) = 18 of (3, 6): p = 0.0021.
	if !scalar.EqualWithinAbs(r.PValue, 0.0021, 1e-4) {
		t.Errorf("p = %v", r.PValue)
	}
	same, err := Friedman([][]float64{{1, 2}, {1, 2}, {1, 2}})
	if err != nil || same.PValue != 0 {
		t.Errorf("full agreement has p = %v (%v)", same.PValue, err)
	}
	if runs := r.Alike(); len(runs) != 2 || len(runs[0]) != 3 || len(runs[1]) != 3 { // CD = 2.569 √(20/18) = 2.71
		t.Errorf("runs %v under a critical difference of %v", runs, r.CriticalDifference)
	}
	for _, bad := range [][][]float64{{{1, 2}}, {{1}, {2}}, {{1, 2}, {1}}, {{1, math.NaN()}, {1, 2}}} {
		if _, err := Friedman(bad); err == nil {
			t.Errorf("%v is ranked", bad)
		}
	}
}

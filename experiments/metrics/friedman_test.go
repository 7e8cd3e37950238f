package metrics

import (
	"math"
	"math/rand/v2"
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

// Ranks: ties share, and the chance of data sets that agree is counted.
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
	same, err := Friedman([][]float64{{1, 2}, {1, 2}, {1, 2}})
	if err != nil || same.PValue != .25 { // the second and the third set as the first
		t.Errorf("full agreement of three sets on two methods has p = %v (%v)", same.PValue, err)
	}
	if all, err := Friedman([][]float64{{1, 1, 1}, {2, 2, 2}}); err != nil || all.PValue != 1 {
		t.Errorf("methods that are equal everywhere have p = %v (%v)", all.PValue, err)
	}
	if want := 2.569 * math.Sqrt(20./18); !scalar.EqualWithinAbs(r.CriticalDifference, want, 1e-3) { // Demšar 2006, table 5
		t.Errorf("a critical difference of %v, not %v", r.CriticalDifference, want)
	}
	for _, bad := range [][][]float64{{{1, 2}}, {{1}, {2}}, {{1, 2}, {1}}, {{1, math.NaN()}, {1, 2}}} {
		if _, err := Friedman(bad); err == nil {
			t.Errorf("%v is ranked", bad)
		}
	}
}

// The exact tail of Friedman's χ² = 12 n/(k(k + 1)) Σ_j (r̄_j − (k+1)/2)² as tables print it
// (Siegel 1956, table N).
func TestFriedmanAgainstTables(t *testing.T) {
	for _, test := range []struct {
		scores [][]float64
		chi, p float64
	}{
		{[][]float64{{1, 2, 3}, {1, 2, 3}, {1, 2, 3}, {1, 2, 3}}, 8, .0046},
		{[][]float64{{1, 2, 3}, {1, 2, 3}, {1, 2, 3}, {2, 1, 3}}, 6.5, .042},
		{[][]float64{{1, 2, 3}, {1, 2, 3}, {1, 3, 2}, {1, 2, 3}, {1, 2, 3}}, 8.4, .0085},
		{[][]float64{{1, 2, 3, 4}, {1, 2, 3, 4}, {1, 2, 3, 4}}, 9, .0017},
		{[][]float64{{1, 2, 3, 4}, {1, 2, 3, 4}, {1, 2, 4, 3}}, 8.2, .017},
	} {
		r, err := Friedman(test.scores)
		if err != nil {
			t.Fatal(err)
		}
		k, n := float64(len(r.Ranks)), float64(len(test.scores))
		var chi float64
		for _, rank := range r.Ranks {
			chi += 12 * n / (k * (k + 1)) * (rank - (k+1)/2) * (rank - (k+1)/2)
		}
		// two digits of the table
		if !scalar.EqualWithinAbs(chi, test.chi, 1e-9) || !scalar.EqualWithinRel(r.PValue, test.p, .03) {
			t.Errorf("%v: χ² = %v, p = %.5f, not %v, %v", test.scores, chi, r.PValue, test.chi, test.p)
		}
	}
}

// With ties, the chance is that of all ways to shuffle the ranks, taken one by one.
func TestFriedmanWithTies(t *testing.T) {
	scores := [][]float64{{1, 2, 2, 4}, {1, 3, 2, 4}, {1, 1, 3, 4}}
	ranks := [][]int{{2, 5, 5, 8}, {2, 6, 4, 8}, {3, 3, 6, 8}} // doubled
	squares := func(rows ...[]int) (s int) {
		for j := range 4 {
			d := -3 * 5
			for _, row := range rows {
				d += row[j]
			}
			s += d * d
		}
		return s
	}
	as, all := 0, 0
	for _, a := range orders([]int{0, 1, 2, 3}, 24) {
		for _, b := range orders([]int{0, 1, 2, 3}, 24) {
			second, third := make([]int, 4), make([]int, 4)
			for j := range 4 {
				second[j], third[j] = ranks[1][a[j]], ranks[2][b[j]]
			}
			if all++; squares(ranks[0], second, third) >= squares(ranks...) {
				as++
			}
		}
	}
	r, err := Friedman(scores)
	if err != nil || all != 24*24 || !scalar.EqualWithinAbs(r.PValue, float64(as)/float64(all), 1e-12) {
		t.Errorf("p = %v (%v), %d of %d shuffles", r.PValue, err, as, all)
	}
}

// Where the shuffles are too many, F has the level it says: 14 methods on six sets, as in
// study beyond, in equal pairs.
func TestImanDavenport(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	const repetitions, level = 4000, .05
	rejected := 0
	for range repetitions {
		ranks := make([][]int, 6)
		for i := range ranks {
			ranks[i] = make([]int, 14)
			for j, r := range rng.Perm(14) {
				ranks[i][j] = 4*(r/2) + 3 // pairs of equals share 1½, 3½, …
			}
		}
		if imanDavenport(ranks) <= level {
			rejected++
		}
	}
	// three standard deviations, and half a hundredth for the approximation
	if got := float64(rejected) / repetitions; math.Abs(got-level) > .005+3*math.Sqrt(level*(1-level)/repetitions) {
		t.Errorf("a level of %v rejects %.4f", level, got)
	}
	// full agreement of two sets on ten methods: one order of 10!
	ten := []int{2, 4, 6, 8, 10, 12, 14, 16, 18, 20}
	if p := imanDavenport([][]int{ten, ten}); !scalar.EqualWithinRel(p, 1./3628800, 1e-9) {
		t.Errorf("full agreement has p = %v", p)
	}
}

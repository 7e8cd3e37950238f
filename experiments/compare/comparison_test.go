package compare

import (
	"math"
	"testing"

	"calibra/experiments/metrics"
)

// fit is a method's fit with the NLL of each test row; the local error is not known.
func fit(method string, seed uint64, nll ...float64) Fit {
	f := Fit{Method: method, Seed: seed, Shared: Scores{NLL: nll}}
	for m := range metrics.Metrics {
		f.Shared.Values[m] = math.NaN()
	}
	var sum float64
	for _, x := range nll {
		sum += x
	}
	f.Shared.Values[metrics.NLL] = sum / float64(len(nll))
	return f
}

// Fits that failed leave their seed out of a comparison: rows of another seed are other
// rows.
func TestRowsCompareTheSeedsOfBoth(t *testing.T) {
	fits := []Fit{
		fit("vq", 1, 1, 2, 3, 4), fit("vq", 2, 5, 1, 5, 1),
		fit("ts", 2, 6, 2, 6, 2), // its first seed failed
		fit("nc", 3, 9, 9, 9, 9), // none in common
	}
	for _, sameRows := range []bool{false, true} {
		rows, err := Rows(t.Context(), fits, []string{"vq", "ts", "nc"}, sameRows)
		if err != nil {
			t.Fatal(err)
		}
		if rows[0].Against[metrics.NLL] != nil || rows[2].Against[metrics.NLL] != nil {
			t.Errorf("the best, or a method without a seed of the best's, is compared")
		}
		c := rows[1].Against[metrics.NLL]
		// every row loses 1 more: the difference is certain
		if c == nil || c.Best != "vq" || c.Difference != 1 || c.Interval != (metrics.Interval{Low: 1, High: 1}) {
			t.Errorf("sameRows %t: TS differs from VQ by %+v, not by 1", sameRows, c)
		}
	}
}

// Rows that all seeds test are averaged over the seeds.
func TestRowsAverageOverSeeds(t *testing.T) {
	fits := []Fit{ // six rows, as fewer that all lean to one side may do so by chance
		fit("vq", 1, 1, 1, 1, 1, 1, 1), fit("vq", 2, 1, 1, 1, 1, 1, 1),
		fit("ts", 1, 2, 4, 2, 4, 2, 4), fit("ts", 2, 4, 2, 4, 2, 4, 2),
	}
	rows, err := Rows(t.Context(), fits, []string{"vq", "ts"}, true)
	if err != nil {
		t.Fatal(err)
	}
	if c := rows[1].Against[metrics.NLL]; c.Difference != 2 || c.Interval != (metrics.Interval{Low: 2, High: 2}) || !c.Significant() {
		t.Errorf("averaged over the seeds each row loses 2 more, not %+v", c)
	}
}

// The local errors of rows err together, so they are compared by replicates of the whole,
// in pairs; a method's that was not measured is not compared.
func TestRowsCompareLCEByReplicates(t *testing.T) {
	local := func(f Fit, lce float64, replicates ...float64) Fit {
		f.Shared.Values[metrics.LCE] = lce
		for range 25 {
			f.Shared.LCE = append(f.Shared.LCE, replicates...)
		}
		return f
	}
	fits := []Fit{
		local(fit("vq", 1, 1, 1), .01, .010, .014),
		local(fit("ts", 1, 1, 1), .02, .020, .025),                    // with every resample about as much worse
		local(fit("ps", 1, 1, 1), .02, .030, .004),                    // not with every
		local(fit("nc", 1, 1, 1), math.NaN(), math.NaN(), math.NaN()), // in no bin
	}
	rows, err := Rows(t.Context(), fits, []string{"vq", "ts", "ps", "nc"}, true)
	if err != nil {
		t.Fatal(err)
	}
	against := func(i int) *Paired { return rows[i].Against[metrics.LCE] }
	if against(0) != nil || against(3) != nil {
		t.Error("the best, or what was not measured, is compared")
	}
	if !against(1).Significant() || math.Abs(against(1).Difference-.01) > 1e-12 {
		t.Errorf("TS is worse in all replicates: %+v", against(1))
	}
	if against(2) == nil || against(2).Significant() {
		t.Errorf("PS is worse in half of the replicates: %+v", against(2))
	}
}

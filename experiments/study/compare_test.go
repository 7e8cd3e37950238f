package study

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"calibra/data"
	"calibra/data/disk"
	"calibra/data/synthetic"
	"calibra/experiments/source"
)

// fitted is a result with the NLL of each of the rows that all seeds test, and the
// replicates of LCE.
func fitted(method string, seed uint64, losses []float32, lce float64, replicates ...float64) *Result {
	r := judged(method, seed, 0, losses...)
	r.Shared["lce"] = lce
	for i := range losses {
		r.Rows = append(r.Rows, i)
	}
	for range 25 {
		r.Replicates = append(r.Replicates, replicates...)
	}
	return r
}

// compared are the lines of a comparison with these results.
func compared(t *testing.T, results ...*Result) []Line {
	t.Helper()
	f := &Findings{Study: &Compare, Results: results}
	o := &source.Origin{}
	for _, r := range results {
		f.Cells = append(f.Cells, Cell{Spec: r.Spec, Origin: o})
	}
	return f.Lines()
}

// TestImprovements: a method's is the classifier's score on the same test rows less its own, and without the classifier
// there are none.
func TestImprovements(t *testing.T) {
	result := func(method, rows string, nll, brier float64) *Result {
		r := fitted(method, 1, []float32{1}, nan)
		r.TestDigest, r.Shared["nll"], r.Shared["brier"] = rows, nll, brier
		return r
	}
	ts := []*Result{result("ts", "a", .5, .3), result("ts", "b", .75, .5), result("ts", "c", .5, .5)}
	f := &Findings{Results: append(ts, result("nc", "a", .75, .25), result("nc", "b", .5, .5))}
	all := f.improvements()
	for i, want := range [][]float64{{.25, -.05}, {-.25, 0}, {nan, nan}} {
		for k, q := range all {
			if got := q.value(ts[i]); math.IsNaN(got) != math.IsNaN(want[k]) || math.Abs(got-want[k]) > 1e-12 {
				t.Errorf("%s of result %d is %v, not %v", q.title, i, got, want[k])
			}
		}
	}
	if f.Results = ts; f.improvements() != nil {
		t.Error("there is no classifier, and yet improvements on it")
	}
}

// Fits that failed leave their seed out of a comparison: rows of another seed are other
// rows.
func TestLinesCompareTheSeedsOfBoth(t *testing.T) {
	lines := compared(t,
		fitted("vq", 1, []float32{1, 2, 3, 4}, nan), fitted("vq", 2, []float32{5, 1, 5, 1}, nan),
		fitted("ts", 2, []float32{6, 2, 6, 2}, nan), // its first seed failed
		fitted("nc", 3, []float32{9, 9, 9, 9}, nan), // none in common
	)
	if lines[0].Against["nll"] != nil || lines[2].Against["nll"] != nil {
		t.Errorf("the best, or a method without a seed of the best's, is compared")
	}
	a := lines[1].Against["nll"]
	// every row loses 1 more: the t test has no spread, and the labels of four rows have p = exp(−4) < 2^(1−4)
	if a == nil || a.Best != "vq" || a.Difference != 1 || a.PValue != .125 || !(0 < a.Interval.Low && a.Interval.Low < 1) {
		t.Errorf("TS differs from VQ by %+v, not by 1", a)
	}
}

// Rows that all seeds test are averaged over the seeds.
func TestLinesAverageOverSeeds(t *testing.T) {
	even := []float32{1, 1, 1, 1, 1, 1} // six rows, as fewer that all lean to one side may do so by chance
	lines := compared(t,
		fitted("vq", 1, even, nan), fitted("vq", 2, even, nan),
		fitted("ts", 1, []float32{2, 4, 2, 4, 2, 4}, nan), fitted("ts", 2, []float32{4, 2, 4, 2, 4, 2}, nan),
	)
	if a := lines[1].Against["nll"]; a.Difference != 2 || a.PValue != math.Exp2(-5) || !(0 < a.Interval.Low && a.Interval.Low < 2) || !a.Significant() {
		t.Errorf("averaged over the seeds each row loses 2 more, not %+v", a)
	}
}

// The local errors of rows err together, so they are compared by replicates of the whole,
// in pairs; a method's that was not measured is not compared, and of seeds with test rows of
// their own the first alone is.
func TestLinesCompareLCEByReplicates(t *testing.T) {
	losses := []float32{1, 1}
	results := []*Result{
		fitted("vq", 1, losses, .01, .010, .014),
		fitted("ts", 1, losses, .02, .020, .025), // with every resample about as much worse
		fitted("ps", 1, losses, .02, .030, .004), // not with every
		fitted("nc", 1, losses, nan, nan, nan),   // in no bin
	}
	for _, own := range []bool{false, true} {
		if own { // a seed whose rows are others, and say the opposite
			for _, other := range []*Result{fitted("vq", 2, losses, .012, .01, .01), fitted("ts", 2, losses, .013, .5, -.5)} {
				other.Rows = []int{2, 3}
				results = append(results, other)
			}
		}
		lines := compared(t, results...)
		against := func(i int) *Against { return lines[i].Against["lce"] }
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
}

// TestGapped: NaN is kept, as null.
func TestGapped(t *testing.T) {
	text, err := json.Marshal(gapped{.1, nan, 2})
	if err != nil || string(text) != "[0.1,null,2]" {
		t.Errorf("%s, %v", text, err)
	}
	var back gapped
	if err := json.Unmarshal(text, &back); err != nil || len(back) != 3 || back[0] != .1 || !math.IsNaN(back[1]) || back[2] != 2 {
		t.Errorf("%v, %v", back, err)
	}
}

// TestCompareMeasuresAlike: methods that need no validation rows are fitted to all of the
// calibration rows, and yet measured in the embedding of the others.
func TestCompareMeasuresAlike(t *testing.T) {
	o := []*source.Origin{origin(t, features(t, 400, 16))}
	compared := func(methods ...string) []*Result {
		cells, _, err := Compare.Cells(t.Context(), o, Settings{Methods: methods, Seeds: []uint64{1}})
		if err != nil {
			t.Fatal(err)
		}
		results, failures, err := runAll(t.Context(), store(t, t.TempDir()), cells, 2)
		if err != nil || failures != nil {
			t.Fatal(err, failures)
		}
		slices.SortStableFunc(results, func(a, b *Result) int { return a.CalibrationRows - b.CalibrationRows })
		return results
	}
	both, alone := compared("ts", "ln"), compared("ts")
	stops, ts := both[0], both[1]
	if stops.CalibrationRows != 360 || stops.ValidationRows != 40 || ts.CalibrationRows != 400 || ts.ValidationRows != 0 {
		t.Fatalf("of 400 rows %d and %d are fitted to, %d and %d set aside", stops.CalibrationRows, ts.CalibrationRows, stops.ValidationRows, ts.ValidationRows)
	}
	if ts.Shared["nll"] != alone[0].Shared["nll"] || ts.Shared["lce"] == alone[0].Shared["lce"] {
		t.Errorf("beside a method that sets rows aside TS has NLL %v and LCE %v, alone %v and %v", ts.Shared["nll"], ts.Shared["lce"], alone[0].Shared["nll"], alone[0].Shared["lce"])
	}
	if len(ts.Replicates) != 200 || len(ts.Without) != 40 || !(ts.Noise["lce"] > 0) {
		t.Errorf("%d replicates, %d parts, noise %v", len(ts.Replicates), len(ts.Without), ts.Noise)
	}
}

// An overconfident classifier as it is and with its temperature scaled, over two seeds.
func Example_compare() {
	dir, err := os.MkdirTemp("", "compare")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	rng := rand.New(rand.NewPCG(1, 0))
	world := synthetic.NewCubic(synthetic.Settings{Features: 8, Classes: 3}, rng)
	cal, _ := world.Draw(1000, rng)
	test, _ := world.Draw(1000, rng)
	features := filepath.Join(dir, "cubic.npz")
	var arrays []data.Array
	for part, rows := range map[string]*data.Set{"cal": cal, "test": test} {
		arrays = append(arrays, data.Array{Name: part + "_features", Value: rows.Features}, data.Array{Name: part + "_logits", Value: rows.Logits}, data.Array{Name: part + "_labels", Value: rows.Labels})
	}
	if err := disk.WriteNPZ(features, arrays...); err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	set := Settings{Methods: []string{"nc", "ts"}, Seeds: []uint64{42, 43}, Split: data.PaperText}
	o, err := source.Registry(nil).Open(features, source.Settings{})
	if err != nil {
		fmt.Println(err)
		return
	}
	cells, _, err := Compare.Cells(ctx, []*source.Origin{o}, set)
	if err != nil {
		fmt.Println(err)
		return
	}
	store, err := OpenStore(filepath.Join(dir, "cells"))
	if err != nil {
		fmt.Println(err)
		return
	}
	plan := NewPlan(store, cells)
	if err := plan.Run(ctx, 0); err != nil || len(plan.Failures()) > 0 {
		fmt.Println(err, plan.Failures())
		return
	}
	lines := Compare.Findings(set, plan).Lines()
	for _, l := range lines {
		if a := l.Against["nll"]; a != nil {
			fmt.Printf("%s is worse than %s in NLL: significant %t\n", l.Method, a.Best, a.Significant())
		}
	}
	// Output: nc is worse than ts in NLL: significant true
}

package study

import (
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"calibra/experiments"
	"calibra/experiments/program"
	"calibra/experiments/report"
	"calibra/layers"

	"gonum.org/v1/gonum/mat"
)

func TestRanksOf(t *testing.T) {
	if got, want := ranks([]float64{3, 1, 3, 2}), []float64{3.5, 1, 3.5, 2}; !slices.Equal(got, want) {
		t.Errorf("ranks %v, want %v", got, want)
	}
}

// TestSquaredErrorIsUnbiased draws labels of two classes that are all .2 off, and none.
func TestSquaredErrorIsUnbiased(t *testing.T) {
	const n = 1500
	for _, off := range []float64{0, .2} {
		rng := rand.New(rand.NewPCG(1, 1))
		z, l, labels := mat.NewDense(n, 2, nil), mat.NewDense(n, 2, nil), make([]int, n)
		for i := range n {
			z.SetRow(i, []float64{rng.NormFloat64(), rng.NormFloat64()})
			l.SetRow(i, []float64{math.Log(.6), math.Log(.4)})
			if rng.Float64() > .6-off {
				labels[i] = 1
			}
		}
		value, se := squaredError(z, l, labels, 20)
		// ‖(.2, −.2)‖² = .08
		if truth := 2 * off * off; math.Abs(value-truth) > 4*se || !(se > 0 && se < .02) {
			t.Errorf("off by %v: %v ± %v, want %v", off, value, se, truth)
		}
	}
}

// TestTruthKeepsItsCells runs a small study twice; the second reads what the first kept.
func TestTruthKeepsItsCells(t *testing.T) {
	study := &Truth{Sources: []string{"global"}, Seeds: []uint64{1}, Rows: []int{200}}
	st := store(t, t.TempDir())
	path := filepath.Join(st.Dir, "global-200-rows-seed-1.json")
	var before os.FileInfo
	var first *TruthResult
	for again := range 2 {
		p := NewPlan(st, study.Cells()[:1])
		if err := p.Run(t.Context(), 1, nil); err != nil || p.Failures() != nil || p.Tasks[0].Done != (again == 1) {
			t.Fatal(err, p.Failures(), p.Tasks)
		}
		f := study.Findings(p)
		r := f.Results[0]
		if p := r.Predictors[0]; p.Name != "exact" || p.KL > 1e-12 || p.Squared > 1e-12 {
			t.Errorf("the first predictor is %+v", p)
		}
		there, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if again == 0 {
			first, before = r, there
		} else if r.Predictors[3].KL != first.Predictors[3].KL || there.ModTime() != before.ModTime() {
			t.Errorf("the cell was computed again: %+v", r.Predictors[3])
		}
		rho := f.settings()[0].rho("nll", truths[2].value)
		if !(rho > .9) { // NLL of the same rows differs by the divergence and little noise
			t.Errorf("NLL ranks by ρ = %v", rho)
		}
		if err := f.Write(t.TempDir(), report.Export{}); err != nil {
			t.Error(err)
		}
	}
}

// TestTruthTellsCellsApart: by methods, by their settings and by program; a stale cell is
// computed again, and a damaged one is named and is not done.
func TestTruthTellsCellsApart(t *testing.T) {
	st := store(t, t.TempDir())
	with := func(name string, set experiments.Values) []Cell {
		m, err := (*experiments.Catalog)(nil).Find(name)
		if err != nil {
			t.Fatal(err)
		}
		study := &Truth{Sources: []string{"global"}, Seeds: []uint64{1}, Rows: []int{200}, Methods: []experiments.Method{m}, Set: map[string]experiments.Values{name: set}}
		return study.Cells()[:1]
	}
	other := st
	other.Program.Digest = "another build"
	ts, vector := with("ts", nil), with("vector", nil)
	for i, c := range []struct {
		store        Store
		cells        []Cell
		stale, there int // before
	}{
		{st, ts, 0, 0}, {st, vector, 0, 0}, {st, with("vector", experiments.Values{"vector.strength": "1"}), 0, 0},
		{st, ts, 0, 1}, {other, ts, 1, 0}, {other, ts, 0, 1},
	} {
		p := NewPlan(c.store, c.cells)
		if len(p.Stale) != c.stale || p.Computed() != c.there || p.Tasks[0].Done != (c.there == 1) {
			t.Errorf("%d: %d stale, %d there", i, len(p.Stale), p.Computed())
		}
		computed := 0
		if err := p.Run(t.Context(), 1, func(Task) { computed++ }); err != nil || p.Failures() != nil || computed != 1-c.there {
			t.Errorf("%d: %d were computed, %v, %v", i, computed, p.Failures(), err)
		}
		if fitted := p.results[0].(*TruthResult).Methods; len(fitted) != 1 || fitted[0] != c.cells[0].(TruthCell).fitted()[0] {
			t.Errorf("%d: the cell is of %v", i, fitted)
		}
	}
	for _, content := range []string{"{", "{}"} {
		path := st.path(ts[0])
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
		p := NewPlan(st, ts)
		if err := p.Run(t.Context(), 1, nil); err != nil || p.Tasks[0].Done || len(p.Failures()) != 1 || !strings.Contains(p.Failures()[0].Error(), path) {
			t.Errorf("of %q: %v, %v", content, p.Failures(), err)
		}
	}
}

// TestTruthSurvivesPanic: a method that panics is the failure of its cells.
func TestTruthSurvivesPanic(t *testing.T) {
	broken := experiments.Method{Name: "broken", New: func(*experiments.Options) layers.Stateful { panic("a bug") }}
	s := &Truth{Sources: []string{"global"}, Seeds: []uint64{1}, Rows: []int{200}, Methods: []experiments.Method{broken}}
	p := NewPlan(store(t, t.TempDir()), s.Cells()[:1])
	err := p.Run(t.Context(), 1, nil)
	if fault := (*program.Fault)(nil); err != nil || len(p.Failures()) != 1 || !errors.As(p.Failures()[0], &fault) {
		t.Errorf("%v, %v", p.Failures(), err)
	}
}

// TestNearest: by hand, on a line; of two rows as near, the first counts as nearer.
func TestNearest(t *testing.T) {
	z := mat.NewDense(6, 1, []float64{0, 5, 1, -1, 2, 1.5})
	for k, want := range map[int][]int{1: {2}, 3: {2, 3, 5}, 5: {2, 3, 5, 4, 1}} {
		if rows := nearest(z, 0, k); !slices.Equal(rows, want) {
			t.Errorf("%d nearest: %v, want %v", k, rows, want)
		}
	}
}

// TestAxesKeepTheFirstRows: sources, features and classes have the first number of rows, and the
// others are measured on one source.
func TestAxesKeepTheFirstRows(t *testing.T) {
	study := &Truth{Sources: []string{"global", "rare"}, Seeds: []uint64{1}, Rows: []int{2000, 500, 8000}}
	var got []string
	for _, c := range study.Cells() {
		if c, ok := c.(TruthCell); ok {
			got = append(got, c.String())
		}
	}
	want := []string{"global-2000-rows-seed-1", "rare-2000-rows-seed-1", "mixed-500-rows-seed-1", "mixed-8000-rows-seed-1",
		"mixed-2000-rows-12-features-seed-1", "mixed-2000-rows-200-features-seed-1", "mixed-2000-rows-2-classes-seed-1", "mixed-2000-rows-10-classes-seed-1"}
	if !slices.Equal(got, want) {
		t.Errorf("cells %q", got)
	}
}

// TestIntervalsHoldForWrongPredictions is the short form of the table that study truth prints of 300 diagnoses a law.
func TestIntervalsHoldForWrongPredictions(t *testing.T) {
	for _, name := range []string{"overconfident-10-5", "unbalanced-10", "local-2"} {
		r, err := DiagnosisRate{Law: name, Runs: 12}.run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		// at 5 %, four of 12 or more miss once in 450 times
		if r.Missed > 3 {
			t.Errorf("%s: an interval of %d of %d diagnoses misses", name, r.Missed, r.Runs)
		}
		t.Logf("%s: %d of %d miss, %d call something wrong", name, r.Missed, r.Runs, r.Any)
	}
}

// TestPlantedRegionsComeBack is the short form of what study truth prints of ten draws each.
func TestPlantedRegionsComeBack(t *testing.T) {
	for _, s := range []DiagnosisRate{{Law: "boxes", Shift: plantedShift, Runs: 1, Planted: 1}, {Law: "boxes", Shift: plantedShift, Runs: 1, Planted: 2}, {Law: "clusters", Shift: plantedShift, Runs: 1, Planted: 2}, {Law: globalLaw, Runs: 1}} {
		r, err := s.run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if s.Planted > 0 && (r.Counted != r.Runs || r.Jaccard < .6) || s.Planted == 0 && r.Global != r.Runs {
			t.Errorf("%s: %+v", s, r)
		}
	}
}

package study

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"calibra/data"
	"calibra/data/disk"
	"calibra/experiments/method"
	"calibra/experiments/report"
	"calibra/experiments/run"
	"calibra/experiments/source"
	"calibra/graph/work"
	"calibra/layers"

	"gonum.org/v1/gonum/mat"
)

// features writes a small features file of n rows a part, m features, 3 classes.
func features(t *testing.T, n, m int) string {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	var arrays []data.Array
	for _, part := range []string{"cal", "test"} {
		x, logits, labels := mat.NewDense(n, m, nil), mat.NewDense(n, 3, nil), make([]int, n)
		for i := range n {
			labels[i] = rng.IntN(3)
			for j := range m {
				x.Set(i, j, rng.NormFloat64())
			}
			x.Set(i, labels[i], x.At(i, labels[i])+2)
			for j := range 3 {
				logits.Set(i, j, 4*x.At(i, j))
			}
		}
		arrays = append(arrays, data.Array{Name: part + "_features", Value: x}, data.Array{Name: part + "_logits", Value: logits}, data.Array{Name: part + "_labels", Value: labels})
	}
	path := filepath.Join(t.TempDir(), "toy-net.npz")
	if err := disk.WriteNPZ(path, arrays...); err != nil {
		t.Fatal(err)
	}
	return path
}

func origin(t *testing.T, arg string) *source.Origin {
	t.Helper()
	o, err := source.Registry(nil).Open(arg, source.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func store(t *testing.T, dir string) Store {
	t.Helper()
	st, err := OpenStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

var settings = Settings{Seeds: []uint64{1, 2}, Split: data.PaperTables}

// runAll computes what the store lacks of the cells.
func runAll(ctx context.Context, st Store, cells []Cell, jobs int) ([]*Result, []*Task, error) {
	p := NewPlan(st, cells)
	err := p.Run(ctx, jobs)
	return (&Study{}).Findings(settings, p).Results, p.Failures(), err
}

// TestKeys: a cell's key tells it from every other, and is the same in every study.
func TestKeys(t *testing.T) {
	letter := []*source.Origin{origin(t, "letter")}
	specs := map[string]run.Spec{}
	for _, s := range Studies {
		cells, skipped, err := s.Cells(t.Context(), letter, settings)
		if err != nil || len(cells) == 0 {
			t.Fatalf("%s has %d cells: %v", s.Name, len(cells), err)
		}
		for _, c := range cells {
			if before, ok := specs[c.Key]; ok && before != c.Spec {
				t.Errorf("one key for %+v and %+v", before, c.Spec)
			}
			specs[c.Key] = c.Spec
		}
		if s == &slotsStudy && (len(skipped) != 1 || !strings.Contains(skipped[0].Why, "256 slots do not divide its 128 features")) {
			t.Errorf("256 slots of 128 features: %v", skipped)
		}
	}
	byKey := map[run.Spec]string{}
	for key, spec := range specs {
		if other, ok := byKey[spec]; ok {
			t.Errorf("%+v has the keys %s and %s", spec, key, other)
		}
		byKey[spec] = key
	}
	zero := settings
	zero.Set = map[string]method.Values{"vq": {"codebook.start": "zero"}}
	a, _, _ := usageStudy.Cells(t.Context(), letter, settings)
	b, _, _ := usageStudy.Cells(t.Context(), letter, zero)
	c, _, _ := usageStudy.Cells(t.Context(), []*source.Origin{origin(t, "digits")}, settings)
	if a[0].Key == b[0].Key || a[0].Key == c[0].Key {
		t.Error("the averages or the data do not reach the key")
	}
}

// small is a study with a cell that must fail: more codewords than rows.
var small = Study{
	Name: "small", Line: "a test",
	Grid: func(*source.Origin) []run.Spec {
		specs := each("vq", "nc", "ts")
		specs[0].Set = "codebook.codewords=8"
		shifted := specs[0]
		shifted.Shift = source.ThinShift
		return append(specs, run.Spec{Method: "vq", Set: "codebook.codewords=5000"}, shifted, run.Spec{Method: "ts", Fraction: 0.5})
	},
	Vary:  []Field{byMethod, bySlots, byCodewords, byFraction},
	Views: []View{Results, localBars, globalBars, noiseFloor, reliabilityDiagrams, profiles, sparsest, shiftNote, usageTable, timeTable},
}

// findings runs the small study in dir.
func findings(t *testing.T, path, dir string, jobs int) *Findings {
	t.Helper()
	cells, skipped, err := small.Cells(t.Context(), []*source.Origin{origin(t, path)}, settings)
	if err != nil {
		t.Fatal(err)
	}
	st := store(t, dir)
	p := NewPlan(st, cells)
	if err := p.Run(t.Context(), jobs); err != nil {
		t.Fatal(err)
	}
	f := small.Findings(settings, p)
	f.Skipped = skipped
	return f
}

func csvOf(t *testing.T, f *Findings) string {
	t.Helper()
	var b strings.Builder
	if err := f.writeResults(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestRun: the numbers do not depend on the number of jobs, nor on which cells were
// there before; a cell that fails stops no other and is tried again; the report of
// what is there is written whole.
func TestRun(t *testing.T) {
	path := features(t, 400, 16)
	dir := t.TempDir()
	alone := findings(t, path, dir, 1)
	if len(alone.Failures) != 2 || !strings.Contains(alone.Failures[0].Err.Error(), "fewer than 5000 codewords") {
		t.Fatalf("want two cells that fail for their codewords, have %v", alone.Failures)
	}
	for i, r := range alone.Results {
		if (r == nil) != (alone.Cells[i].Spec.Codewords() == 5000) {
			t.Errorf("%s has result %v", alone.Cells[i], r)
		}
	}
	want := csvOf(t, alone)
	if got := csvOf(t, findings(t, path, t.TempDir(), 3)); got != want {
		t.Errorf("three jobs give\n%s\none gives\n%s", got, want)
	}

	for i, c := range alone.Cells { // every other cell is lost
		if i%2 == 0 && alone.Results[i] != nil {
			if err := os.Remove(alone.Store.path(c)); err != nil {
				t.Fatal(err)
			}
		}
	}
	again := findings(t, path, dir, 2)
	if got := csvOf(t, again); got != want {
		t.Errorf("after a loss\n%s\nbefore\n%s", got, want)
	}
	if len(again.Failures) != 2 {
		t.Errorf("failed cells are not tried again: %v", again.Failures)
	}

	out := t.TempDir()
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := again.Write(cancelled, out, report.Export{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled report: %v", err)
	}
	if files, err := os.ReadDir(out); err != nil || len(files) != 0 {
		t.Errorf("a cancelled report leaves %v (%v)", files, err)
	}
	if _, err := again.Write(t.Context(), out, report.Export{}); err != nil {
		t.Fatal(err)
	}
	for name, wanted := range map[string]string{
		"report.html": "fewer than 5000 codewords", "tables.md": "| toy · net | VQ |", "tables.tex": `\midrule`,
		"results.csv": "codewords_fewest", "times.csv": "divide_seconds", "figures/q2-toy-net.svg": "<svg",
	} {
		text, err := os.ReadFile(filepath.Join(out, name))
		if err != nil || !strings.Contains(string(text), wanted) {
			t.Errorf("%s (%d bytes) lacks %q: %v", name, len(text), wanted, err)
		}
	}
}

// TestShifted: a cell judged on shifted rows has other numbers than in distribution.
func TestShifted(t *testing.T) {
	o := []*source.Origin{origin(t, features(t, 400, 16))}
	fit := func(dir string, specs ...run.Spec) []*Result {
		s := Study{Grid: func(*source.Origin) []run.Spec { return specs }}
		one := settings
		one.Seeds = one.Seeds[:1]
		cells, _, err := s.Cells(t.Context(), o, one)
		if err != nil {
			t.Fatal(err)
		}
		results, failures, err := runAll(t.Context(), store(t, dir), cells, 1)
		if err != nil || failures != nil {
			t.Fatal(err, failures)
		}
		return results
	}
	for _, method := range []string{"vq", "ts"} {
		in, shifted := run.Spec{Method: method}, run.Spec{Method: method, Shift: source.ThinShift}
		both := fit(t.TempDir(), in, shifted)
		there, own := both[0], both[1]
		if there.Shared["nll"] == own.Shared["nll"] || there.TestRows <= own.TestRows {
			t.Errorf("%s: the shifted rows are those in distribution", method)
		}
	}
}

// TestAddedMethods: a method that a study has not is added as the others are, with each of their
// parts of the rows, and where it has their settings.
func TestAddedMethods(t *testing.T) {
	own := method.Method{Name: "own", Line: "a test", New: func(o *method.Options) layers.Stateful {
		o.Float("own.x", 1, method.Positive, "", "a test")
		return &layers.Temperature{}
	}}
	set := Settings{Catalog: method.NewCatalog(own), Methods: []string{"own"}}
	for _, c := range []struct {
		of   *Study
		want []run.Spec
	}{
		{&mainStudy, []run.Spec{{}}},
		{&calibrationSizeStudy, []run.Spec{{Fraction: .05}, {Fraction: .0625}, {Fraction: .1}, {Fraction: .2}, {Fraction: .25}, {Fraction: .4}, {Fraction: .6}, {Fraction: .8}, {}}},
		{&slotsStudy, nil}, // which tells no methods apart
	} {
		got := c.of.grid(origin(t, "cubic"), set)
		for i := range c.want {
			c.want[i].Method, c.want[i].Catalog = "own", set.Catalog
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s has %+v, want %+v", c.of.Name, got, c.want)
		}
	}
}

// TestTruth: only synthetic data have a true posterior, and the classifier's own
// error against it shows in the result.
func TestTruth(t *testing.T) {
	s := Study{Grid: func(*source.Origin) []run.Spec { return each("nc", "ts") }, Vary: []Field{byMethod}}
	one := settings
	one.Seeds = one.Seeds[:1]
	cells, _, err := s.Cells(t.Context(), []*source.Origin{origin(t, "cubic")}, one)
	if err != nil {
		t.Fatal(err)
	}
	results, failures, err := runAll(t.Context(), store(t, t.TempDir()), cells, 1)
	if err != nil || failures != nil {
		t.Fatal(err, failures)
	}
	nc, ts := results[0].Truth, results[1].Truth
	if nc == nil || ts == nil || !(nc.LCE > ts.LCE && ts.LCE > 0 && nc.KL > ts.KL && ts.KL > 0) {
		t.Errorf("overconfident logits err by %+v, scaled ones by %+v", nc, ts)
	}
	f := &Findings{Study: &s, Cells: cells, Results: results}
	section := Results(f)
	if heads := fmt.Sprint(section.Tables[0].Values); !strings.Contains(heads, "true LCE") || !strings.Contains(heads, "KL to truth") {
		t.Errorf("the table has the columns %s", heads)
	}
}

func TestInterrupted(t *testing.T) {
	cells, _, err := small.Cells(t.Context(), []*source.Origin{origin(t, features(t, 400, 16))}, settings)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	watched := work.WithProgress(ctx, func(doing []string, _, _ float64) {
		if strings.HasPrefix(doing[0], "cell 2 of ") {
			cancel()
		}
	})
	dir := t.TempDir()
	if _, _, err = runAll(watched, store(t, dir), cells, 1); err == nil || ctx.Err() == nil {
		t.Fatalf("it ends with %v", err)
	}
	p := NewPlan(store(t, dir), cells)
	if damaged := p.Failures(); len(damaged) > 0 || p.Computed() != 1 || !p.Tasks[0].Done || p.Tasks[len(cells)-1].Done {
		t.Errorf("the first cell is not there or the last is: %v", damaged)
	}
}

// TestResultRoundTrip: what a cell keeps is what it reads.
func TestResultRoundTrip(t *testing.T) {
	f := findings(t, features(t, 400, 16), t.TempDir(), 2)
	for i, r := range f.Results {
		if r == nil {
			continue
		}
		back, _, err := f.Store.find(f.Cells[i])
		if err != nil {
			t.Fatal(err)
		}
		a, _ := json.Marshal(r)
		b, _ := json.Marshal(back)
		if string(a) != string(b) {
			t.Errorf("%s:\n%s\nread as\n%s", f.Cells[i], a, b)
		}
	}
}

func ExampleStudy_Cells() {
	o, err := source.Registry(nil).Open("letter", source.Settings{})
	if err != nil {
		fmt.Println(err)
		return
	}
	cells, skipped, err := slotsStudy.Cells(context.Background(), []*source.Origin{o}, Settings{Seeds: []uint64{42}, Split: data.PaperTables})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range cells[:3] {
		fmt.Println(c)
	}
	fmt.Println(len(cells), skipped)
	// Output:
	// letter/mlp vq w=16 |C|=32 seed 42
	// letter/mlp vq w=16 |C|=64 seed 42
	// letter/mlp vq w=32 |C|=32 seed 42
	// 8 [{letter 256 slots do not divide its 128 features}]
}

// TestShiftsByName: a raw table is judged on the rows that the name says, and the report
// says the name. Only the region's cells are of another classifier.
func TestShiftsByName(t *testing.T) {
	raw := filepath.Join(t.TempDir(), "raw.csv")
	rng := rand.New(rand.NewPCG(3, 1))
	var text strings.Builder
	const rows = 400
	for range rows {
		y := rng.IntN(2)
		x := rng.NormFloat64()
		fmt.Fprintf(&text, "%.4f,%.4f,%.4f,%c\n", x, x+.1*rng.NormFloat64(), rng.NormFloat64()+float64(y), 'a'+y)
	}
	if err := os.WriteFile(raw, []byte(text.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	o := []*source.Origin{origin(t, raw)}
	dir := t.TempDir()
	one := settings
	one.Seeds, one.Methods = []uint64{1}, []string{"nc", "ts"}
	if inside, _, err := mainStudy.Cells(t.Context(), o, one); err != nil {
		t.Fatal(err)
	} else if _, failures, err := runAll(t.Context(), store(t, dir), inside, 1); err != nil || failures != nil {
		t.Fatal(err, failures)
	}
	nll := map[float64]bool{}
	for _, c := range []struct {
		shift source.Shift
		rows  int // of 108 test rows of the seed after a tenth went to validation, or of the region
	}{{source.RegionShift, rows / 5}, {source.NoiseShift, 120}, {source.ThinShift, 54}} {
		set := one
		set.Shift = c.shift
		cells, _, err := shiftedStudy.Cells(t.Context(), o, set)
		if err != nil {
			t.Fatal(err)
		}
		results, failures, err := runAll(t.Context(), store(t, dir), cells, 1)
		if err != nil || failures != nil {
			t.Fatal(err, failures)
		}
		if got := results[0].TestRows; got != c.rows {
			t.Errorf("%s: %d rows, want %d", c.shift, got, c.rows)
		}
		nll[results[0].Shared["nll"]] = true
		if len(results[0].Strata) != 3 || results[0].Rows == nil {
			t.Errorf("%s: strata %v, row numbers %v", c.shift, results[0].Strata, results[0].Rows)
		}
		f := &Findings{Study: &shiftedStudy, Settings: set, Cells: cells, Results: results}
		if note := shiftNote(f); !strings.Contains(note.Note, c.shift.Line()) {
			t.Errorf("%s: the report says %v", c.shift, note)
		}
	}
	if len(nll) != 3 {
		t.Errorf("three shifts have the NLL %v", nll)
	}
	wrong := one
	wrong.Shift = source.GivenShift
	var input *data.InputError
	if _, _, err := shiftedStudy.Cells(t.Context(), o, wrong); !errors.As(err, &input) || !strings.Contains(err.Error(), "choose one of region, noise, thin") {
		t.Errorf("a shift that a table has not: %v", err)
	}
}

// TestStyles: every method has a look of its own, and one from outside no colour of the paper's tables.
func TestStyles(t *testing.T) {
	var mine []method.Part
	for i := range 9 {
		mine = append(mine, method.OnLogits(fmt.Sprintf("mine-%d", i), "a map", nil))
	}
	catalog := method.NewCatalog(mine...)
	seen := map[int]string{}
	for _, name := range catalog.Names()[1:] {
		at := style(catalog, name)
		if other := seen[at]; other != "" {
			t.Errorf("%s and %s look alike", name, other)
		}
		seen[at] = name
		if strings.HasPrefix(name, "mine-") && at%report.Colours < len(tableOrder)-1 {
			t.Errorf("%s has the colour of %s", name, tableOrder[at%report.Colours+1])
		}
	}
}

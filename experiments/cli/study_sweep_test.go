package cli

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// sweep runs study sweep on a features file, and gives its report as JSON and its results.csv by heads.
func sweep(t *testing.T, in, out string, more ...string) (found struct {
	Results, Test []map[string]any
	Cells         int
	Chosen        []struct {
		Method     string
		Settings   map[string]string
		Validation float64                     `json:"validation_nll"`
		Test       float64                     `json:"test_nll"`
		Interval   struct{ Low, High float64 } `json:"test_interval"`
		Verdict    *struct{ Methods []any }
		Second     string
		Difference *struct{ Value float64 } `json:"difference_to_second"`
	}
}, rows []map[string]string) {
	t.Helper()
	code, stdout, stderr := calibra(t, append([]string{"study", "sweep", "--data", in, "--out", out, "--json"}, more...)...)
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if err := json.Unmarshal([]byte(stdout), &found); err != nil {
		t.Fatal(err)
	}
	lines := csvLines(t, filepath.Join(out, "results.csv"))
	for _, line := range lines[1:] {
		row := map[string]string{}
		for j, head := range lines[0] {
			row[head] = line[j]
		}
		rows = append(rows, row)
	}
	return found, rows
}

// TestSweepChoosesOnValidationRows: results.csv has a row for each setting and seed, the setting of the least mean
// validation NLL is chosen, and neither that NLL nor the choice sees the labels of the test rows.
func TestSweepChoosesOnValidationRows(t *testing.T) {
	grid := []string{"--method", "vq", "--set", "slots=2,4", "--set", "codebook.codewords=2,8", "--set", "optim.epochs=3", "--seeds", "1-2"}
	arrays, dir := features(300), t.TempDir()
	found, rows := sweep(t, write(t, arrays), filepath.Join(dir, "a"), grid...)
	means := map[string]float64{}
	for _, row := range rows {
		nll, err := strconv.ParseFloat(row["validation_nll"], 64)
		if err != nil {
			t.Fatal(err)
		}
		means[row["codebook.slots"]+" "+row["codebook.codewords"]] += nll / 2
	}
	if len(rows) != 8 || len(means) != 4 {
		t.Fatalf("%d rows of %d settings, want 8 of 4", len(rows), len(means))
	}
	best := slices.MinFunc(slices.Collect(maps.Keys(means)), func(a, b string) int {
		if means[a] < means[b] {
			return -1
		}
		return 1
	})
	chosen := found.Chosen[0]
	if got := chosen.Settings["codebook.slots"] + " " + chosen.Settings["codebook.codewords"]; got != best || chosen.Validation != means[best] {
		t.Errorf("%s of %v is chosen, the least is %s of %v", got, chosen.Validation, best, means[best])
	}
	if i := chosen.Interval; !(i.Low < chosen.Test && chosen.Test < i.High) {
		t.Errorf("the NLL %v is outside its interval %v", chosen.Test, i)
	}

	for _, a := range arrays {
		if labels, ok := a.Value.([]int); ok && a.Name == "test_labels" {
			slices.Reverse(labels)
		}
	}
	_, other := sweep(t, write(t, arrays), filepath.Join(dir, "b"), grid...)
	for i := range rows {
		if rows[i]["validation_nll"] != other[i]["validation_nll"] {
			t.Errorf("row %d: the validation NLL follows the test labels", i)
		}
	}
	if rows[0]["nll"] == other[0]["nll"] {
		t.Error("the test NLL does not follow the test labels")
	}
}

// TestSweepRandom: drawn combinations are of the grid, fewer are among more, and their cells are those of the grid.
func TestSweepRandom(t *testing.T) {
	in, dir := write(t, features(300)), t.TempDir()
	sets := func(n string) (sets []string) {
		_, rows := sweep(t, in, filepath.Join(dir, n), "--cells", filepath.Join(dir, "cells"), "--methods", "vector,sm", "--set", "vector.strength=0,1,10", "--set", "sm.strength=0.1,1", "--seeds", "7", "--random", n)
		for _, row := range rows {
			sets = append(sets, row["method"]+" "+row["settings"])
			if set := row["method"] + " " + row["method"] + ".strength=" + row[row["method"]+".strength"]; set != sets[len(sets)-1] {
				t.Errorf("the columns say %s of %s", set, sets[len(sets)-1])
			}
		}
		return sets
	}
	three, all := sets("3"), sets("6")
	if len(all) != 5 { // three of one method, two of the other
		t.Errorf("the grid has %v", all)
	}
	for _, set := range three {
		if !slices.Contains(all, set) {
			t.Errorf("%s is not of the grid", set)
		}
	}
	cells, _ := filepath.Glob(filepath.Join(dir, "cells", "*.json"))
	if len(cells) != 5 {
		t.Errorf("%d cells, want 5", len(cells))
	}
}

// TestSweepOfFilesAsSeeds: without --seeds there are as many seeds as files.
func TestSweepOfFilesAsSeeds(t *testing.T) {
	more := features(300)
	more[1].Value.(*mat.Dense).Scale(2, more[1].Value.(*mat.Dense)) // logits of another training
	in := write(t, features(300)) + "," + write(t, more)
	_, rows := sweep(t, in, t.TempDir(), "--as-seeds", "--method", "ts", "--set", "temperature.prior=.2,.5")
	if len(rows) != 4 {
		t.Errorf("%d rows of two values and two files", len(rows))
	}
}

// TestSweepLists: a setting that is a list takes one value of each --set.
func TestSweepLists(t *testing.T) {
	_, rows := sweep(t, write(t, features(300)), t.TempDir(), "--method", "dc-odir", "--set", "odir.strengths=1,0.1", "--set", "odir.strengths=0.1", "--seeds", "1")
	if len(rows) != 2 || rows[0]["odir.strengths"] != "1,0.1" {
		t.Errorf("%d rows, the first of %s", len(rows), rows[0]["odir.strengths"])
	}
}

// TestSweepOfRules: a setting of one rule is varied with that rule alone; beside the classifier a sweep has a verdict.
func TestSweepOfRules(t *testing.T) {
	found, rows := sweep(t, write(t, features(300)), t.TempDir(), "--method", "nc,ts", "--set", "optim.rule=adam,sgd", "--set", "optim.beta2=0.9,0.99", "--set", "optim.momentum=0.5", "--set", "optim.epochs=5", "--seeds", "1,2")
	var sets []string
	for _, row := range rows {
		sets = append(sets, row["settings"])
	}
	slices.Sort(sets)
	want := []string{"", "optim.beta2=0.9 optim.epochs=5 optim.rule=adam", "optim.beta2=0.99 optim.epochs=5 optim.rule=adam", "optim.epochs=5 optim.momentum=0.5 optim.rule=sgd"}
	if sets = slices.Compact(sets); !slices.Equal(sets, want) {
		t.Errorf("the settings are %q, want %q", sets, want)
	}
	chosen := found.Chosen[0]
	if chosen.Method != "ts" || chosen.Verdict == nil || len(chosen.Verdict.Methods) != 2 || chosen.Second == "" || chosen.Difference == nil {
		t.Errorf("%+v", chosen)
	}
}

func TestSweepRefuses(t *testing.T) {
	in, out := write(t, features(300)), filepath.Join(t.TempDir(), "out")
	for want, more := range map[string][]string{
		"needs --method":               {"--set", "optim.rate=1,2"},
		"several values":               {"--method", "vq", "--set", "optim.rate=1"},
		"twice; name each value once":  {"--method", "vq", "--set", "optim.rate=1,1"},
		"is given by --slots":          {"--method", "vq", "--slots", "4", "--set", "slots=2,4"},
		"vq has no setting optim.raet": {"--method", "vq", "--set", "optim.raet=1,2"},
		"optim.rate is \"x\"":          {"--method", "vq", "--set", "optim.rate=1,x"},
		"fewer than the 3 of --random": {"--method", "vq", "--set", "optim.rate=1,2", "--random", "3"},
		"at least 1":                   {"--method", "vq", "--set", "optim.rate=1,2", "--random", "0"},
		"ts with optim.rule=adam has no setting optim.weight": {"--method", "ts", "--set", "optim.rule=adam,lion", "--set", "optim.weight=1,2"},
		"judges on the test rows":                             {"--method", "vq", "--set", "optim.rate=1,2", "--shift", "noise"},
		"more than 1000000 combinations":                      {"--method", "vq", "--set", "optim.rate=" + series(1001), "--set", "optim.batch=" + series(1001)},
		"too many for a sweep; draw up to":                    {"--method", "vq", "--set", "optim.rate=" + series(200), "--set", "optim.batch=" + series(200)},
	} {
		code, _, stderr := calibra(t, append([]string{"study", "sweep", "--data", in, "--out", out}, more...)...)
		if code != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("%v: exit code %d, %q does not say %q", more[:2], code, stderr, want)
		}
	}
	if code, _, stderr := calibra(t, "study", "main", "--data", in, "--out", out, "--random", "3"); code != exitUsage || !strings.Contains(stderr, "of study sweep alone") {
		t.Errorf("study main --random: exit code %d, %s", code, stderr)
	}
}

// series is the numbers from 1 to n, with commas.
func series(n int) string {
	var all []string
	for i := range n {
		all = append(all, strconv.Itoa(i+1))
	}
	return strings.Join(all, ",")
}

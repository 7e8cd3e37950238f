package cli

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"calibra/experiments/method"
	"calibra/experiments/metrics"
	"calibra/experiments/report"

	"gonum.org/v1/gonum/mat"
)

// TestCompare runs every method on a small problem: all are in the tables, the files
// have the same bytes on one core and on two, and the differences are to the best.
func TestCompare(t *testing.T) {
	inAllFormats(t)
	in := write(t, features(160))
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	first := map[string][]byte{}
	for _, cores := range []int{1, 2} {
		runtime.GOMAXPROCS(cores)
		out := filepath.Join(t.TempDir(), "compared")
		methods := "nc,ts,dc,ir,pc,ln"
		if cores == 1 {
			methods = "ln,pc,ir,dc,ts,nc,ts" // in any order, each once
		}
		code, stdout, stderr := calibra(t, "compare", "--in", in, "--methods", methods, "--seeds", "1-2", "--out", out)
		if code != 0 || !strings.Contains(stdout, "LCE own") || !strings.Contains(stdout, "12 of 12 fits") {
			t.Fatalf("exits %d: %s%s", code, stdout, stderr)
		}
		for _, name := range []string{"tables.md", "tables.tex", "results.csv", "metrics.json", "figures/local.png", "figures/global.pdf"} {
			got, err := os.ReadFile(filepath.Join(out, name))
			if err != nil {
				t.Fatal(err)
			}
			if first[name] == nil {
				first[name] = got
			}
			if !bytes.Equal(got, first[name]) {
				t.Errorf("%s differs between one core and two", name)
			}
		}
	}
	var written struct {
		Methods map[string]struct {
			Metrics map[string]struct {
				Mean, SD float64
				CI       [2]float64
			}
			Against map[string]struct {
				Best       string
				Difference float64
			} `json:"against_best"`
		}
	}
	if err := json.Unmarshal(first["metrics.json"], &written); err != nil {
		t.Fatal(err)
	}
	if len(written.Methods) != 6 {
		t.Fatalf("there are %d methods", len(written.Methods))
	}
	best := 0
	for name, m := range written.Methods {
		nll := m.Metrics["nll"]
		if !(nll.CI[0] <= nll.Mean && nll.Mean <= nll.CI[1]) {
			t.Errorf("%s: NLL %v lies outside of %v", name, nll.Mean, nll.CI)
		}
		c, ok := m.Against["nll"]
		if !ok {
			best++
			continue
		}
		// Sums of 160 rows in two orders.
		if want := nll.Mean - written.Methods[c.Best].Metrics["nll"].Mean; c.Difference < 0 || c.Difference-want > 1e-12 || want-c.Difference > 1e-12 {
			t.Errorf("%s differs by %v, its mean by %v", name, c.Difference, want)
		}
	}
	if best != 1 {
		t.Errorf("%d methods are the best", best)
	}
	if !bytes.Contains(first["tables.md"], []byte("**")) || !bytes.Contains(first["tables.md"], []byte("<u>")) {
		t.Error("nothing is bold or underlined")
	}
}

// TestEveryMethodFitsAndApplies from the command line.
func TestEveryMethodFitsAndApplies(t *testing.T) {
	in := write(t, features(120))
	for _, m := range method.All {
		out := filepath.Join(t.TempDir(), m.Name)
		args := []string{"fit", "--in", in, "--method", m.Name, "--out", out}
		if m.Divides() {
			args = append(args, small...)
		}
		if code, _, stderr := calibra(t, args...); code != 0 {
			t.Errorf("fit %s: %s", m.Name, stderr)
			continue
		}
		if code, _, stderr := calibra(t, "apply", "--model", out, "--in", in, "--out", filepath.Join(out, "p.npz")); code != 0 {
			t.Errorf("apply %s: %s", m.Name, stderr)
		}
	}
}

// TestCompareJSON has numbers, of several seeds with their standard deviation, and nothing where
// nothing was measured.
func TestCompareJSON(t *testing.T) {
	in := write(t, features(160))
	for seeds, several := range map[string]bool{"1": false, "1-2": true} {
		code, stdout, stderr := calibra(t, "compare", "--in", in, "--methods", "nc,ts", "--seeds", seeds, "--out", filepath.Join(t.TempDir(), "compared"), "--json")
		var printed struct{ Methods []map[string]any }
		if err := json.Unmarshal([]byte(stdout), &printed); code != 0 || err != nil || len(printed.Methods) != 2 {
			t.Fatalf("exits %d, %v: %s%s", code, err, stdout, stderr)
		}
		for _, m := range printed.Methods {
			for key, value := range m {
				if _, number := value.(float64); number == (key == "method") {
					t.Errorf("%s is %v", key, value)
				}
			}
			for _, key := range []string{"nll", "accuracy", "lce_shared", "phi_nll", "phi_brier"} {
				if _, there := m[key+"_sd"]; there != several || m[key] == nil {
					t.Errorf("seeds %s: %s is missing, or %s_sd is there: %v", seeds, key, key, m)
				}
			}
		}
	}
}

// TestReportedValues: numbers as they are, words as words, and nothing of what was not measured.
func TestReportedValues(t *testing.T) {
	r := &report.Table{Labels: []string{"Method"}, Blocks: []report.Block{{Rows: []report.Row{{Labels: []string{"ts"}}}}}}
	for head, c := range map[string]report.Cell{
		"one":     {Text: ".123†", Value: metrics.NewSpread([]float64{.1234})},
		"several": {Text: ".2±.1", Value: metrics.NewSpread([]float64{.125, .375})},
		"none":    {Text: "–", Value: metrics.NewSpread(nil)},
		"unknown": {Text: "–", Value: metrics.NewSpread([]float64{math.NaN(), 1})},
		"words":   {Text: "better"},
	} {
		r.Values = append(r.Values, report.Head{Text: head})
		r.Blocks[0].Rows[0].Cells = append(r.Blocks[0].Rows[0].Cells, c)
	}
	want := map[string]any{"method": "ts", "one": .1234, "several": .25, "several_sd": math.Sqrt(.03125), "words": "better"}
	if got := r.Objects()[0]; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestCompareRefusesWhatItCannotDo(t *testing.T) {
	in, out := write(t, features(60)), filepath.Join(t.TempDir(), "compared")
	for want, args := range map[string][]string{
		"there is no method": {"--in", in, "--methods", "magic", "--out", out},
		"not a seed":         {"--in", in, "--methods", "nc", "--seeds", "x", "--out", out},
		"add --folds 5":      {"--in", write(t, features(60)[:3]), "--methods", "nc", "--out", out},
	} {
		code, _, stderr := calibra(t, append([]string{"compare"}, args...)...)
		if code != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("%v exits %d: %s", args, code, stderr)
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%v leaves a directory", args)
		}
	}
}

// TestKeptIsTold: fit, compare, also of finished fits, and its metrics.json say that a pool keeps a classifier that is
// always right, and how many members of an ensemble do.
func TestKeptIsTold(t *testing.T) {
	arrays := features(200)
	for i, a := range arrays {
		if logits, ok := a.Value.(*mat.Dense); ok && strings.HasSuffix(a.Name, "logits") {
			for row, y := range arrays[i+1].Value.([]int) {
				logits.SetRow(row, []float64{0, 0, 0})
				logits.Set(row, y, 8)
			}
		}
	}
	in, out, runs := write(t, arrays), filepath.Join(t.TempDir(), "c"), t.TempDir()
	for _, members := range []string{"1", "2"} {
		var told struct {
			Kept string `json:"classifier_kept"`
		}
		_, stdout, stderr := calibra(t, "fit", "--in", in, "--method", "pool", "--set", "ensemble.members="+members, "--json", "--out", filepath.Join(runs, members))
		if err := json.Unmarshal([]byte(stdout), &told); err != nil || !strings.HasPrefix(told.Kept, "pool keeps the classifier at temperature 0.9") || !strings.Contains(stderr, told.Kept) {
			t.Errorf("%s members: %q, %v: %s", members, told.Kept, err, stderr)
		}
	}
	_, stdout, stderr := calibra(t, "compare", "--runs", filepath.Join(runs, "1")+","+filepath.Join(runs, "2"), "--json", "--out", out)
	if strings.Count(stdout, `"classifier_kept"`) != 2 || !strings.Contains(stdout, `"classifier_kept": "2: pool keeps the classifier at temperature 0.9`) {
		t.Errorf("compare --runs does not tell: %s%s", stdout, stderr)
	}
	_, stdout, stderr = calibra(t, "compare", "--in", in, "--methods", "nc,pool", "--seeds", "1,2", "--out", out)
	if !strings.Contains(stdout, "with 2 of 2 seeds pool keeps the classifier") {
		t.Errorf("compare does not tell: %s%s", stdout, stderr)
	}
	for _, file := range []string{"metrics.json", "report.html"} {
		if text, err := os.ReadFile(filepath.Join(out, file)); err != nil || !strings.Contains(string(text), "with 2 of 2 seeds pool keeps the classifier") {
			t.Errorf("%s does not tell: %v", file, err)
		}
	}
}

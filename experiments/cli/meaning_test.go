package cli

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"calibra/data"

	"gonum.org/v1/gonum/mat"
)

// meaning is a file of the cases about what arrays and columns mean.
func meaning(file string) string { return filepath.Join(caseFiles, "meaning", file) }

// digits is half a unit of the last of so many decimals, to which right.py prints.
func digits(n int) float64 { return .5001 * math.Pow10(-n) }

var unmeasured = []string{"--redraws", "0", "--replicates", "0", "--folds", "0"}

// TestFilesOfPredictions: a table with an id and a column of each class is predictions, whatever tool called the
// columns, and the numbers are those of right.py.
func TestFilesOfPredictions(t *testing.T) {
	needCases(t)
	cases := casesOf{t.TempDir(), map[string]*ran{}}
	path := meaning("id-and-class-columns.csv")
	file, err := os.ReadFile(path)
	if err != nil {
		t.Skipf("the cases are not there: %v", err)
	}
	columns := func(name string) func(line string) string { // the columns of classes by another name
		return func(line string) string {
			for _, class := range []string{"low", "mid", "high"} {
				line = strings.Replace(line, class, fmt.Sprintf(name, class), 1)
			}
			return line
		}
	}
	for name, head := range map[string]func(line string) string{
		"the class":      func(line string) string { return line },
		"prob_":          columns("prob_%s"),
		"p_":             columns("p_%s"),
		"tidymodels":     func(line string) string { return strings.Replace(columns(".pred_%s")(line), "label", "class", 1) },
		"mlr3":           func(line string) string { return strings.Replace(columns("prob.%s")(line), "label", "truth", 1) },
		"caret":          func(line string) string { return strings.Replace(line, "label", "obs", 1) },
		"another's name": func(line string) string { return strings.Replace(line, "label", "kind", 1) },
		"index":          func(line string) string { return strings.Replace(line, "id", "index", 1) },
	} {
		lines := strings.SplitAfterN(string(file), "\n", 2)
		at := filepath.Join(t.TempDir(), "p.csv")
		if err := os.WriteFile(at, []byte(head(lines[0])+lines[1]), 0o600); err != nil {
			t.Fatal(err)
		}
		e := cases.evaluatedAt(t, at, unmeasured...)
		isNear(t, name+": rows", e.Rows, 400, 0)
		isNear(t, name+": NLL", e.Metrics["nll"].Value, .913847, digits(6))
		isNear(t, name+": accuracy", e.Metrics["accuracy"].Value, .675, 0)
	}
	cases.run(t, "fit", "--in", path, "--method", "ts").refuses(t, "column set", "compare --folds")
	if code, _, stderr := calibra(t, "diagnose", "--in", path, "--redraws", "19", "--out", t.TempDir()); code != 0 || !strings.Contains(stderr, "no regions are searched") {
		t.Errorf("diagnose exits %d: %s", code, stderr)
	}
	if code, _, stderr := calibra(t, "compare", "--in", path, "--methods", "nc,ts", "--folds", "5", "--out", filepath.Join(t.TempDir(), "c")); code != 0 || !strings.Contains(stderr, "the columns low, mid, high are read as those of the classes") || !strings.Contains(stderr, "nothing reads id") {
		t.Errorf("compare exits %d: %s", code, stderr)
	}
}

// TestPartsOfPredictions: a column set parts such a table for fit, which then reads what it reads of the same rows of
// logits.
func TestPartsOfPredictions(t *testing.T) {
	needCases(t)
	file, err := os.Open(meaning("id-and-class-columns.csv"))
	if err != nil {
		t.Skipf("the cases are not there: %v", err)
	}
	defer file.Close()
	dir := t.TempDir()
	byClass, byLogit := "", ""
	for lines, n := bufio.NewScanner(file), 0; lines.Scan(); n++ {
		part := "test"
		if n <= 200 {
			part = "cal"
		}
		if n == 0 {
			byClass, byLogit = lines.Text()+",set\n", "id,logit_low,logit_mid,logit_high,label,set\n"
			continue
		}
		byClass += lines.Text() + "," + part + "\n"
		byLogit += lines.Text() + "," + part + "\n"
	}
	cases := casesOf{dir, map[string]*ran{}}
	var nll []float64
	for name, text := range map[string]string{"class.csv": byClass, "logit.csv": byLogit, "prob.csv": strings.ReplaceAll(byLogit, "logit_", "prob_")} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		nll = append(nll, cases.run(t, "fit", "--in", path, "--method", "ts").result(t, "nll"))
		p := cases.run(t, "apply", "--model", cases.run(t, "fit", "--in", path, "--method", "ts").out, "--in", path).predictions(t)
		isNear(t, name+": NLL of apply", meanNLL(p.LogProbs, p.Labels), nll[len(nll)-1], 1e-12) // of probabilities as written
	}
	isNear(t, "NLL", nll[1], nll[0], 0)
	isNear(t, "NLL", nll[2], nll[0], 0)
}

// TestOrderOfClasses: the levels of a factor are the order of the columns; two classes that are exchanged in the
// alphabet are found.
func TestOrderOfClasses(t *testing.T) {
	needCases(t)
	cases := casesOf{t.TempDir(), map[string]*ran{}}
	isNear(t, "NLL", cases.fit(t, "meaning/factor.feather", "ts").result(t, "nll"), .628545, digits(6)) // right.py
	cases.fit(t, "meaning/names-two-exchanged.npz", "ts").refuses(t, "in another order", "alba, iris, setosa, lutea")
}

// TestGroupsOfDays: days are groups.
func TestGroupsOfDays(t *testing.T) {
	needCases(t)
	cases := casesOf{t.TempDir(), map[string]*ran{}}
	e := cases.evaluatedAt(t, meaning("groups-of-days.parquet"), unmeasured...)
	if len(e.Groups) != 3 {
		t.Fatalf("groups: %v", e.Groups)
	}
	for k, want := range []float64{.793025, 1.027590, .683613} { // right.py
		isNear(t, e.Groups[k].Name, e.Groups[k].NLL, want, digits(6))
		if day := fmt.Sprintf("2025-03-%02d", k+1); e.Groups[k].Name != day {
			t.Errorf("group %d is %s, not %s", k, e.Groups[k].Name, day)
		}
	}
}

// TestSetsWithoutFeatures: prediction sets need no features, and then all rows are one region.
func TestSetsWithoutFeatures(t *testing.T) {
	needCases(t)
	cases := casesOf{t.TempDir(), map[string]*ran{}}
	in := meaning("sets-without-features.npz")
	model := cases.run(t, "fit", "--in", in, "--method", "ts").ok(t).out
	r := cases.run(t, "apply", "--model", model, "--in", in, "--sets", "0.9").ok(t)
	labels := r.predictions(t).Labels
	for _, key := range []string{"sets", "sets_marginal"} {
		sets, err := data.ReadMatrix(r.out, key)
		if err != nil {
			t.Fatal(err)
		}
		covered := 0.
		for i, y := range labels {
			covered += sets.At(i, y)
		}
		isNear(t, key+": mean size", mat.Sum(sets)/float64(len(labels)), 2.61, 1e-12) // right.py
		isNear(t, key+": coverage", covered/float64(len(labels)), .885, 1e-12)
	}
}

// TestGroupsInTables: groups of every type that pyarrow writes have the same names in Parquet and Arrow; vectors of
// Spark are refused by what to do about them.
func TestGroupsInTables(t *testing.T) {
	dir := t.TempDir()
	casePython(t, `
import datetime, decimal, sys
import numpy as np, pyarrow as pa, pyarrow.feather as pf, pyarrow.parquet as pq
k, p = np.arange(60) % 3, pa.array([[.3, .7]] * 60)
day, moment = (lambda i: datetime.date(2025, 1, int(i) + 1)), (lambda i: datetime.datetime(2025, 3, 1, 12, int(i)))
for name, groups in dict(day=pa.array(map(day, k)), day64=pa.array(map(day, k), pa.date64()), ms=pa.array(map(moment, k), pa.timestamp("ms")),
        ns=pa.array(map(moment, k), pa.timestamp("ns")), zone=pa.array(map(moment, k), pa.timestamp("us", tz="UTC")),
        decimal=pa.array([decimal.Decimal("-1.50") + int(i) for i in k], pa.decimal128(10, 2)), truth=pa.array(k == 1), half=pa.array(k / 2)).items():
    t = pa.table(dict(probs=p, label=k % 2, groups=groups))
    pq.write_table(t, sys.argv[1] + "/" + name + ".parquet")
    pf.write_feather(t, sys.argv[1] + "/" + name + ".feather")
pq.write_table(pa.table(dict(probs=p, label=k % 2, groups=pa.array(map(moment, k), pa.timestamp("ns")))), sys.argv[1] + "/int96.parquet", use_deprecated_int96_timestamps=True)
vectors = pa.array([dict(type=1, values=[.2, .8])] * 60, pa.struct([("type", pa.int8()), ("values", pa.list_(pa.float64()))]))
pq.write_table(pa.table(dict(probability=vectors, label=k % 2)), sys.argv[1] + "/spark.parquet")
pf.write_feather(pa.table(dict(probability=vectors, label=k % 2)), sys.argv[1] + "/spark.feather")
`, dir)
	days, moments := "[2025-01-01 2025-01-02 2025-01-03]", "[2025-03-01T12:00:00 2025-03-01T12:01:00 2025-03-01T12:02:00]"
	for name, want := range map[string]string{"day": days, "day64": days, "ms": moments, "ns": moments, "zone": moments, "int96": moments,
		"decimal": "[-1.50 -0.50 0.50]", "truth": "[false true]", "half": "[0 0.5 1]", "spark": "vector_to_array"} {
		for _, end := range []string{".parquet", ".feather"} {
			if name == "int96" && end == ".feather" {
				continue // Arrow has none
			}
			p, err := data.ReadPredictions(filepath.Join(dir, name+end))
			got := fmt.Sprint(err)
			if err == nil {
				got = fmt.Sprint(p.Groups.Names)
			}
			if !strings.Contains(got, want) {
				t.Errorf("%s%s: %s, not %s", name, end, got, want)
			}
		}
	}
}

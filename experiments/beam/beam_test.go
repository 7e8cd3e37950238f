package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"calibra/data"
	"calibra/data/disk"
	"calibra/experiments/cli"
	"calibra/experiments/metrics"
	"calibra/experiments/study"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/memfs"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/passert"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/ptest"
	"gonum.org/v1/gonum/mat"
)

// TestMain runs pipelines as the command does, on Prism.
func TestMain(m *testing.M) {
	flag.Parse()
	ptest.MainRet(m) // initializes Beam, and runs the tests
}

// try runs a command and returns what it printed.
func try(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := run(t.Context(), args, &out)
	return out.String(), err
}

func must(t *testing.T, args ...string) string {
	t.Helper()
	out, err := try(t, args...)
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return out
}

// calibra runs a command of the main module.
func calibra(t *testing.T, args ...string) string {
	t.Helper()
	out, err := part(t.Context(), args)
	if err != nil {
		t.Fatalf("calibra %v: %v", args, err)
	}
	return out
}

// value is a metric in the JSON of a report.
type value struct {
	Value float64
	CI    []float64
	Noise *metrics.Noise
}

type printed struct {
	Rows    int
	Metrics map[string]value
	Checks  map[string]any
	Failed  []Outcome
	Anchors *metrics.AnchorSample
}

func reported(t *testing.T, text string) (p printed) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return p
}

// TestEvaluate: shards have the metrics of calibra evaluate under the same keys, a corrupt
// one is named and counts nothing, and neither order nor repetition changes a byte.
func TestEvaluate(t *testing.T) {
	dir := t.TempDir()
	must(t, "generate", "--rows", "3000", "--shards", "3", "--classes", "4", "--out", filepath.Join(dir, "one.npz"))
	pattern := filepath.Join(dir, "part-*.npz")
	must(t, "generate", "--rows", "3000", "--shards", "3", "--classes", "4", "--out", pattern)
	want := reported(t, calibra(t, "evaluate", "--in", filepath.Join(dir, "one.npz"), "--json", "--folds", "0"))
	text := must(t, "evaluate", "--in", pattern, "--json", "--anchors", "3000")
	got := reported(t, text)
	if got.Rows != 3000 || len(got.Metrics) != len(want.Metrics) || len(want.Metrics) != int(metrics.Metrics) {
		t.Fatalf("%d rows have the metrics %v, want %v", got.Rows, got.Metrics, want.Metrics)
	}
	for name, w := range want.Metrics {
		tolerance := 1e-12 // the rounding of sums over 3,000 rows
		if name == "lce" || name == "mlce" {
			tolerance = 2e-6 // calibra evaluate has the kernel in float32
		}
		g := got.Metrics[name]
		if math.Abs(g.Value-w.Value) > tolerance {
			t.Errorf("%s is %v, calibra evaluate says %v", name, g.Value, w.Value)
		}
		if tolerance < 1e-9 && (len(g.CI) != 2 || g.CI[0] > g.Value || g.CI[1] < g.Value || g.Noise == nil) {
			t.Errorf("%s has the interval %v and the noise %v", name, g.CI, g.Noise)
		}
	}
	for name, w := range want.Checks {
		if w, number := w.(float64); number && math.Abs(got.Checks[name].(float64)-w) > 1e-12 {
			t.Errorf("%s is %v, calibra evaluate says %v", name, got.Checks[name], w)
		}
	}
	if again := must(t, "evaluate", "--in", pattern, "--json", "--anchors", "3000"); again != text {
		t.Error("a second run prints other bytes")
	}
	if text := must(t, "evaluate", "--in", pattern); !strings.Contains(text, "LCE at 200 rows") || !strings.Contains(text, "Brier") {
		t.Errorf("the text is %s", text)
	}

	corrupt := filepath.Join(dir, "part-00001.npz")
	content, err := os.ReadFile(corrupt)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(corrupt, content[:len(content)/2], 0o666); err != nil {
		t.Fatal(err)
	}
	text, err = try(t, "evaluate", "--in", pattern, "--json")
	if cli.ExitCode(err) != 1 || !strings.Contains(err.Error(), "1 of 3 shards failed") {
		t.Errorf("a corrupt shard makes the code %d: %v", cli.ExitCode(err), err)
	}
	if got := reported(t, text); got.Rows != 2000 || len(got.Failed) != 1 || got.Failed[0].Name != corrupt || got.Failed[0].Error == "" {
		t.Errorf("with a corrupt shard: %d rows, failed %+v", got.Rows, got.Failed)
	}
}

// TestWeights: whole ones are copies of the rows, and others are refused by name, as soft labels are.
func TestWeights(t *testing.T) {
	dir := t.TempDir()
	shard := func(name string, arrays ...data.Array) string {
		path := filepath.Join(dir, name)
		if err := disk.WriteNPZ(path, arrays...); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const n = 400
	probs, place, labels, rows := mat.NewDense(n, 2, nil), mat.NewDense(n, 1, nil), make([]int, n), []int(nil)
	weights, halves := make([]float64, n), make([]float64, n)
	for i := range n {
		p := (float64(i%19) + 1) / 20
		probs.SetRow(i, []float64{p, 1 - p})
		place.Set(i, 0, float64(i%7))
		labels[i], weights[i], halves[i] = i/19%2, float64(i%3), .5
		for range i % 3 {
			rows = append(rows, i)
		}
	}
	halves[0] = .25
	copied := make([]int, len(rows))
	for k, i := range rows {
		copied[k] = labels[i]
	}
	weighted := shard("weighted.npz", data.Array{Name: "probs", Value: probs}, data.Array{Name: "labels", Value: labels}, data.Array{Name: "embedding", Value: place}, data.Array{Name: "weights", Value: weights})
	copies := shard("copies.npz", data.Array{Name: "probs", Value: data.RowsOf(probs, rows)}, data.Array{Name: "labels", Value: copied}, data.Array{Name: "embedding", Value: data.RowsOf(place, rows)})
	if a, b := must(t, "evaluate", "--in", weighted, "--json"), must(t, "evaluate", "--in", copies, "--json"); a != b {
		t.Errorf("of weights it says %s\nand of copies %s", a, b)
	}
	for _, in := range []string{
		shard("halves.npz", data.Array{Name: "probs", Value: probs}, data.Array{Name: "labels", Value: labels}, data.Array{Name: "weights", Value: halves}),
		shard("soft.npz", data.Array{Name: "probs", Value: probs}, data.Array{Name: "labels", Value: probs}),
	} {
		if _, err := try(t, "evaluate", "--in", in, "--json"); err == nil || !strings.Contains(err.Error(), "has weights that are no whole numbers, or soft labels, and shards count rows") {
			t.Errorf("%s: %v", in, err)
		}
	}
}

// TestDeliveredTwice: shards that a runner delivers twice, in any order, count once.
func TestDeliveredTwice(t *testing.T) {
	dir := t.TempDir()
	must(t, "generate", "--rows", "400", "--shards", "4", "--classes", "3", "--out", filepath.Join(dir, "part-*.npz"))
	shards, err := list(t.Context(), filepath.Join(dir, "part-*.npz"))
	if err != nil {
		t.Fatal(err)
	}
	e := Evaluation{MetricFlags: cli.MetricFlags{Bandwidth: 10, Bins: 15, Replicates: 40, Redraws: 5}, Anchors: 50, Like: Shape{Path: shards[0].Path, Classes: 3, Dimensions: 4}}
	measured := func(name string, shards []Shard) string {
		path := filepath.Join(dir, name)
		if err := ptest.Run(e.pipeline(shards, path)); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	once := measured("once", shards)
	twice := slices.Concat(shards, shards[1:3])
	slices.Reverse(twice)
	if got := measured("twice", twice); got != once {
		t.Errorf("delivered twice:\n%s\nonce:\n%s", got, once)
	}
	p, s := beam.NewPipelineWithRoot()
	outcomes := beam.CreateList(s, []Outcome{{1, "b", ""}, {0, "a", "wrong"}, {1, "b", ""}})
	passert.Equals(s, beam.Combine(s, &collectFn{}, outcomes), Outcomes{[]Outcome{{0, "a", "wrong"}, {1, "b", ""}}})
	if err := ptest.Run(p); err != nil {
		t.Error(err)
	}
}

// features writes a features file of n rows a part.
func features(t *testing.T, path string, n int, seed float64) {
	t.Helper()
	var arrays []data.Array
	for _, part := range []string{"cal", "test"} {
		x, logits, labels := mat.NewDense(n, 4, nil), mat.NewDense(n, 3, nil), make([]int, n)
		for i := range n {
			labels[i] = (7*i + 3) % 3
			for j := range 4 {
				x.Set(i, j, math.Sin(float64(i*(j+2))+seed))
			}
			for c := range 3 {
				logits.Set(i, c, 2*x.At(i, c))
			}
			logits.Set(i, labels[i], logits.At(i, labels[i])+1)
		}
		arrays = append(arrays, data.Array{Name: part + "_features", Value: x}, data.Array{Name: part + "_logits", Value: logits}, data.Array{Name: part + "_labels", Value: labels})
	}
	if err := disk.WriteNPZ(path, arrays...); err != nil {
		t.Fatal(err)
	}
}

// TestApply: each shard becomes what calibra apply makes of it; a corrupt one is named.
func TestApply(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for i, name := range []string{"part-0.npz", "part-1.npz", "part-2.npz"} {
		features(t, at(name), 60, float64(i))
	}
	calibra(t, "fit", "--in", at("part-0.npz"), "--method", "dc", "--out", at("model"))
	if err := os.WriteFile(at("part-1.npz"), []byte("no zip"), 0o666); err != nil {
		t.Fatal(err)
	}
	_, err := try(t, "apply", "--model", at("model"), "--in", at("part-*.npz"), "--out", at("out"))
	if cli.ExitCode(err) != 1 || !strings.Contains(err.Error(), "1 of 3 shards failed") {
		t.Errorf("a corrupt shard makes the code %d: %v", cli.ExitCode(err), err)
	}
	calibra(t, "apply", "--model", at("model"), "--in", at("part-2.npz"), "--out", at("alone.npz"))
	for _, key := range []string{"probs", "embedding"} {
		want, err := data.ReadMatrix(at("alone.npz"), key)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := data.ReadMatrix(at("out/part-2.npz"), key); err != nil || !mat.Equal(got, want) {
			t.Errorf("%s differs from that of calibra apply (%v)", key, err)
		}
	}
	if made, _ := filepath.Glob(at("out/*")); len(made) != 2 {
		t.Errorf("there are %v", made)
	}
}

// TestApplySets: a shard with too few rows for prediction sets is named and stops no other.
func TestApplySets(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	features(t, at("part-0.npz"), 60, 0)
	features(t, at("part-1.npz"), 900, 1)
	calibra(t, "fit", "--in", at("part-1.npz"), "--method", "dc", "--out", at("model"))
	_, err := try(t, "apply", "--model", at("model"), "--in", at("part-*.npz"), "--out", at("out"), "--sets", "0.9")
	if cli.ExitCode(err) != 1 || !strings.Contains(err.Error(), "1 of 2 shards failed") {
		t.Errorf("too few rows make the code %d: %v", cli.ExitCode(err), err)
	}
	if has, err := data.HasArray(at("out/part-1.npz"), "sets"); err != nil || !has {
		t.Errorf("the other shard has sets: %v (%v)", has, err)
	}
}

// TestStudy: a study on Beam writes what calibra study writes; a cell that fails is named.
func TestStudy(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "toy.npz")
	features(t, in, 80, 0)
	args := []string{"study", "main", "--data", in, "--methods", "nc,ts,histogram", "--seeds", "1,2"}
	alone, ours := filepath.Join(dir, "alone"), filepath.Join(dir, "ours")
	calibra(t, append(slices.Clone(args), "--out", alone)...)
	must(t, append(slices.Clone(args), "--out", ours)...)
	for _, name := range []string{"results.csv", "tables.md", "tables.tex"} {
		want, err := os.ReadFile(filepath.Join(alone, name))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(ours, name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s differs (%v)", name, err)
		}
	}
	cells := "memfs://" + dir + "/cells" // not of this machine
	args = []string{"study", "main", "--data", in, "--methods", "nc,vq", "--seeds", "1", "--codewords", "5000", "--slots", "2", "--cells", cells}
	for _, out := range []string{"failing", "again"} { // where the cell that is left fails
		out = filepath.Join(dir, out)
		if _, err := try(t, append(slices.Clone(args), "--out", out)...); cli.ExitCode(err) != 1 || !strings.Contains(err.Error(), "1 of 2 cells failed") {
			t.Errorf("a cell that fails makes the code %d: %v", cli.ExitCode(err), err)
		}
		if text, err := os.ReadFile(filepath.Join(out, "results.csv")); err != nil || !strings.Contains(string(text), "nc") {
			t.Errorf("%s has the results %s (%v)", out, text, err)
		}
	}
}

// TestTruthElsewhere: a cell without a model goes where the cells are, too.
func TestTruthElsewhere(t *testing.T) {
	cells := "memfs://" + t.TempDir()
	args := []string{"study", "truth", "--data", "cubic", "--rows", "200", "--seeds", "1", "--alarms", "0", "--methods", "ts"}
	var cell study.Task
	first, _, _ := strings.Cut(calibra(t, append(slices.Clone(args), "--list", "--out", t.TempDir())...), "\n")
	if err := json.Unmarshal([]byte(first), &cell); err != nil {
		t.Fatal(err)
	}
	one, err := (&cellFn{args, cells}).ProcessElement(t.Context(), Shard{0, cell.ID})
	if err != nil || one.Error != "" {
		t.Fatalf("the cell fails: %+v (%v)", one, err)
	}
	local := t.TempDir()
	if err := download(t.Context(), cells, local); err != nil {
		t.Fatal(err)
	}
	if there := calibra(t, append(slices.Clone(args), "--list", "--cells", local, "--out", t.TempDir())...); strings.Count(there, `"done":true`) != 1 {
		t.Errorf("of the cells are there:\n%s", there)
	}
}

// TestRefused: what the user got wrong exits with 2, before anything runs.
func TestRefused(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	features(t, at("part-0.npz"), 60, 0)
	calibra(t, "fit", "--in", at("part-0.npz"), "--method", "dc", "--out", at("model"))
	apply := func(more ...string) []string {
		return append([]string{"apply", "--in", at("part-*.npz"), "--out", at("out")}, more...)
	}
	evaluate := func(more ...string) []string { return append([]string{"evaluate", "--in", "x.npz"}, more...) }
	for want, args := range map[string][]string{
		"does not exist":           {"evaluate", "--in", "nowhere/*.npz"},
		"missing flags: --in":      {"evaluate"},
		"pattern of the files":     {"evaluate", "--in", ""},
		"--weights":                evaluate("--weights", "none"),
		"y.npz":                    evaluate("y.npz"),
		"--anchors is 1":           evaluate("--anchors", "1"),
		"--bins is 0":              evaluate("--bins", "0"),
		"--bandwidth is 0":         evaluate("--bandwidth", "0"),
		"--small-bin is -5":        evaluate("--small-bin=-5"),
		"--replicates is -1":       evaluate("--replicates=-1"),
		"--redraws is -1":          evaluate("--redraws=-1"),
		"unknown flag --nosuch":    evaluate("--nosuch"),
		"-parallelism":             evaluate("--parallelism", "many"),
		"scheme":                   {"evaluate", "--in", "nosuch://x/*.npz"},
		"nosuch":                   {"nosuch"},
		"needs --out":              {"study", "main", "--data", "letter"},
		"name a study":             {"study", "--data", "letter", "--out", at("study")},
		"--model":                  {"apply", "--in", "x.npz"},
		"mistyped":                 apply("--model", at("mistyped")),
		"abc":                      apply("--model", at("model"), "--intervals", "abc"),
		"bilinear map only":        apply("--model", at("model"), "--intervals", "0.9"),
		"--two-stage widens":       apply("--model", at("model"), "--two-stage"),
		"--sets has the level 1.2": apply("--model", at("model"), "--sets", "1.2"),
	} {
		if _, err := try(t, args...); cli.ExitCode(err) != 2 || !strings.Contains(err.Error(), want) {
			t.Errorf("%v exits %d without %q: %v", args, cli.ExitCode(err), want, err)
		}
	}
	if made, err := os.ReadDir(dir); err != nil || len(made) != 2 {
		t.Errorf("there are %v (%v)", made, err)
	}
	ours, beams := split([]string{"--in", "x", "--runner", "flink", "--endpoint=localhost:8099", "--json", "--async", "main"})
	if !slices.Equal(ours, []string{"--in", "x", "--json", "main"}) || !slices.Equal(beams, []string{"--runner", "flink", "--endpoint=localhost:8099", "--async"}) {
		t.Errorf("parted into %v and %v", ours, beams)
	}
}

// TestHelp: every command explains itself and runs nothing.
func TestHelp(t *testing.T) {
	for command, want := range map[string]string{"evaluate": "--anchors=N", "apply": "--two-stage", "generate": "--shards=10", "study": "--temp=DIR"} {
		if text := must(t, command, "--help"); !strings.Contains(text, want) || !strings.Contains(text, "calibra-beam "+command) {
			t.Errorf("%s --help has no %s:\n%s", command, want, text)
		}
	}
}

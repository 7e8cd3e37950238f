package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"calibra/data"
	"calibra/data/disk"

	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"
)

// predictions writes 300 rows of three classes, all predicted (.5, .3, .2), whose
// labels are of these shares.
func predictions(t *testing.T, arrays ...data.Array) string {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 1))
	probs, embedding, labels := mat.NewDense(300, 3, nil), mat.NewDense(300, 2, nil), make([]int, 300)
	for i := range 300 {
		probs.SetRow(i, []float64{.5, .3, .2})
		embedding.SetRow(i, []float64{10 * rng.NormFloat64(), 10 * rng.NormFloat64()})
		switch {
		case i%10 >= 8:
			labels[i] = 2
		case i%10 >= 5:
			labels[i] = 1
		}
	}
	if arrays == nil {
		arrays = []data.Array{{Name: "probs", Value: probs}, {Name: "labels", Value: labels}, {Name: "embedding", Value: embedding}}
	} else {
		arrays = append(arrays, data.Array{Name: "probs", Value: probs})
	}
	path := filepath.Join(t.TempDir(), "predictions.npz")
	if err := disk.WriteNPZ(path, arrays...); err != nil {
		t.Fatal(err)
	}
	return path
}

// output runs the command and returns its exit code and what it wrote to stdout.
func output(t *testing.T, args ...string) (code int, stdout string) {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	old := os.Stdout
	os.Stdout = write
	text := make(chan string)
	go func() {
		all, _ := io.ReadAll(read)
		text <- string(all)
	}()
	code = execute(args)
	os.Stdout = old
	write.Close()
	return code, <-text
}

func TestEvaluateJSON(t *testing.T) {
	path := predictions(t)
	code, first := output(t, "evaluate", "--in", path, "--json", "--replicates", "40", "--redraws", "20")
	if code != 0 {
		t.Fatalf("exit code %d", code)
	}
	var file struct {
		Protocol string
		Metrics  map[string]struct {
			Value float64
			CI    [2]float64
			Noise struct {
				Mean, SD, P95, Excess float64
				PValue                float64 `json:"p_value"`
			}
		}
	}
	if err := json.Unmarshal([]byte(first), &file); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]float64{
		"accuracy": .5, "nll": -(.5*math.Log(.5) + .3*math.Log(.3) + .2*math.Log(.2)), "brier": .62, "ece": 0, "ece_top": 0, "mce": 0, "ecce": 0,
	} {
		if got := file.Metrics[name].Value; !scalar.EqualWithinAbs(got, want, 1e-9) {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	for _, name := range []string{"lce", "mlce"} {
		if m := file.Metrics[name]; !(m.Value > 0) || !(m.CI[0] <= m.Value && m.Value <= m.CI[1]) || !(m.Noise.Mean > 0) || m.Noise.PValue > 1 {
			t.Errorf("%s: %+v", name, m)
		}
	}
	if file.Protocol != "tables" {
		t.Errorf("protocol %q", file.Protocol)
	}
	adaptive := []string{"evaluate", "--in", path, "--json", "--replicates", "40", "--redraws", "20", "--epsilon", ".1"}
	if code, other := output(t, adaptive...); code != 0 || !strings.Contains(other, `"epsilon": 0.1`) || other == first {
		t.Errorf("by --epsilon: exit code %d, %.300s", code, other)
	}
	if _, second := output(t, "evaluate", "--in", path, "--json", "--replicates", "40", "--redraws", "20"); second != first {
		t.Error("the same seed gave other bytes")
	}
	if _, other := output(t, "evaluate", "--in", path, "--json", "--replicates", "40", "--redraws", "20", "--seed", "1"); other == first {
		t.Error("another seed gave the same bytes")
	}
}

func TestEvaluateForReaders(t *testing.T) {
	code, text := output(t, "evaluate", "--in", predictions(t), "--replicates", "40", "--redraws", "20", "--protocol", "formula")
	for _, want := range []string{"300 rows, 3 classes, protocol formula", "95 % interval", "noise floor", "MLCE"} {
		if code != 0 || !strings.Contains(text, want) {
			t.Errorf("exit code %d, no %q in\n%s", code, want, text)
		}
	}
	labels := make([]int, 300)
	code, text = output(t, "evaluate", "--in", predictions(t, data.Array{Name: "labels", Value: labels}), "--redraws", "0", "--replicates", "0")
	if code != 0 || strings.Contains(text, "MLCE  ") || !strings.Contains(text, "LCE, MLCE and the ESS profile need an embedding") {
		t.Errorf("without an embedding: exit code %d\n%s", code, text)
	}
}

// TestEvaluatePage: the page has every metric, the figures with their noise floor and where
// it comes from; with a date given it is made again byte by byte.
func TestEvaluatePage(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "86400")
	in, dir := predictions(t), t.TempDir()
	var pages [2][]byte
	for i, to := range []string{filepath.Join(dir, "page.html"), dir} {
		if code, _ := output(t, "evaluate", "--in", in, "--replicates", "40", "--redraws", "5", "--html", to); code != 0 {
			t.Fatalf("--html %s: exit code %d", to, code)
		}
		if to == dir {
			to = filepath.Join(dir, "report.html")
		}
		var err error
		if pages[i], err = os.ReadFile(to); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(pages[0], pages[1]) {
		t.Error("two pages of one evaluation differ")
	}
	for _, want := range []string{">MLCE<", "95 % interval", "floor of measured", "1970-01-02 00:00 UTC", "Command", `class="point"`} {
		if !bytes.Contains(pages[0], []byte(want)) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

func TestEvaluateBadInput(t *testing.T) {
	bad := mat.NewDense(300, 2, nil)
	bad.Set(7, 1, math.NaN())
	labels := make([]int, 300)
	nan := predictions(t, data.Array{Name: "labels", Value: labels}, data.Array{Name: "embedding", Value: bad})
	short := predictions(t, data.Array{Name: "labels", Value: labels}, data.Array{Name: "embedding", Value: mat.NewDense(299, 2, nil)})
	for name, args := range map[string][]string{
		"no file":        {"--in", filepath.Join(t.TempDir(), "none.npz")},
		"no labels":      {"--in", predictions(t, data.Array{Name: "other", Value: labels})},
		"NaN":            {"--in", nan},
		"other rows":     {"--in", short},
		"unknown key":    {"--in", predictions(t), "--embedding", "none"},
		"bandwidth":      {"--in", predictions(t), "--bandwidth", "0"},
		"epsilon":        {"--in", predictions(t), "--epsilon", "1"},
		"no neighbour":   {"--in", predictions(t), "--epsilon", "1e-9"},
		"two widths":     {"--in", predictions(t), "--epsilon", ".1", "--bandwidth", "3"},
		"bins":           {"--in", predictions(t), "--bins", "0"},
		"redraws":        {"--in", predictions(t), "--redraws=-1"},
		"protocol":       {"--in", predictions(t), "--protocol", "other"},
		"few replicates": {"--in", predictions(t), "--replicates", "3"},
	} {
		if code, text := output(t, append([]string{"evaluate"}, args...)...); code != exitUsage || strings.Contains(text, "ECE") {
			t.Errorf("%s: exit code %d, output %q", name, code, text)
		}
	}
}

// TestEvaluateBinning: two probabilities in one bin of equal width, .52 always right and
// .58 always wrong, hide each other's error; bins by quantile tell them apart.
func TestEvaluateBinning(t *testing.T) {
	probs, labels := mat.NewDense(200, 2, nil), make([]int, 200)
	for i := range labels {
		p := .52 + .06*float64(i%2)
		probs.SetRow(i, []float64{1 - p, p})
		labels[i] = 1 - i%2
	}
	path := filepath.Join(t.TempDir(), "predictions.npz")
	if err := disk.WriteNPZ(path, data.Array{Name: "probs", Value: probs}, data.Array{Name: "labels", Value: labels}); err != nil {
		t.Fatal(err)
	}
	for binning, want := range map[string]float64{"width": .05, "quantile": .53} { // |½ − .55|; (.48 + .58)/2
		code, text := output(t, "evaluate", "--in", path, "--json", "--bins", "8", "--binning", binning, "--replicates", "0", "--redraws", "0")
		var file struct {
			Settings struct{ Binning string }
			Metrics  map[string]struct{ Value float64 }
		}
		if err := json.Unmarshal([]byte(text), &file); code != 0 || err != nil {
			t.Fatalf("exit code %d, %v", code, err)
		}
		if got := file.Metrics["ece"].Value; !scalar.EqualWithinAbs(got, want, 1e-6) || file.Settings.Binning != binning {
			t.Errorf("%s: ECE %g, settings %+v; want %g", binning, got, file.Settings, want)
		}
	}
}

// TestEvaluateSaysWhatWasNotPrinted: a report that could not be written is no success.
func TestEvaluateSaysWhatWasNotPrinted(t *testing.T) {
	in := predictions(t)
	unwritable, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer unwritable.Close()
	defer func(old *os.File) { os.Stdout = old }(os.Stdout)
	os.Stdout = unwritable
	for _, args := range [][]string{nil, {"--json"}} {
		if code := execute(append([]string{"evaluate", "--in", in, "--redraws", "0", "--replicates", "0"}, args...)); code != exitFailure {
			t.Errorf("%v: exit code %d", args, code)
		}
	}
}

// TestEvaluateFewRows: the recoverable loss is left out with a note, unless it is asked for.
func TestEvaluateFewRows(t *testing.T) {
	probs, embedding, labels := mat.NewDense(9, 2, nil), mat.NewDense(9, 2, nil), make([]int, 9)
	for i := range labels {
		labels[i] = i % 2
		probs.SetRow(i, []float64{.6, .4})
		embedding.Set(i, 0, float64(i))
	}
	in := filepath.Join(t.TempDir(), "few.npz")
	if err := disk.WriteNPZ(in, data.Array{Name: "probs", Value: probs}, data.Array{Name: "labels", Value: labels}, data.Array{Name: "embedding", Value: embedding}); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := calibra(t, "evaluate", "--in", in, "--redraws", "0")
	if code != 0 || !strings.Contains(stdout, "NLL") || !strings.Contains(stderr, "9 rows are too few") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
	if code, _, stderr = calibra(t, "evaluate", "--in", in, "--redraws", "0", "--folds", "5"); code != exitUsage {
		t.Errorf("--folds 5: exit code %d: %s", code, stderr)
	}
}

// TestEvaluateNeedsAnEmbedding for anchors alone: what a correction of the predictions gains is measured without.
func TestEvaluateNeedsAnEmbedding(t *testing.T) {
	in := predictions(t, data.Array{Name: "labels", Value: make([]int, 300)})
	for _, args := range [][]string{{"--anchors", "5"}, {"--folds", "0", "--anchors", "5"}} {
		code, stdout, stderr := calibra(t, append([]string{"evaluate", "--in", in, "--redraws", "0", "--replicates", "0"}, args...)...)
		if code != exitUsage || stdout != "" || !strings.Contains(stderr, "has no array embedding, which "+args[len(args)-2]+" needs") {
			t.Errorf("%v: exit code %d: %s%s", args, code, stdout, stderr)
		}
	}
	for folds, want := range map[string]string{"0": "Cannot tell yet. What a correction would gain was not measured: --folds 0 leaves it out.", "3": "by the predictions alone (at least"} {
		code, stdout, stderr := calibra(t, "evaluate", "--in", in, "--redraws", "0", "--replicates", "0", "--folds", folds)
		if code != 0 || !strings.Contains(stdout, want) || strings.Contains(stdout, "more by the embedding") {
			t.Errorf("--folds %s: exit code %d: %s%s", folds, code, stdout, stderr)
		}
	}
}

// TestEvaluateFeatures holds metrics in the components of features to those in the same
// embedding given as an array, and has the sentences of what cannot be.
func TestEvaluateFeatures(t *testing.T) {
	path := predictions(t)
	z, err := data.ReadMatrix(path, "embedding")
	if err != nil {
		t.Fatal(err)
	}
	e, err := data.FitEmbedding(z, 0)
	if err != nil {
		t.Fatal(err)
	}
	features, given := filepath.Join(t.TempDir(), "features.npz"), predictions(t)
	p, err := data.ReadPredictions(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := disk.WriteNPZ(features, data.Array{Name: "test_features", Value: z}); err != nil {
		t.Fatal(err)
	}
	if err := disk.WriteNPZ(given, append(p.Arrays(), data.Array{Name: "embedding", Value: e.Apply(z)})...); err != nil {
		t.Fatal(err)
	}
	args := []string{"evaluate", "--json", "--replicates", "0", "--redraws", "0", "--in"}
	_, want := output(t, append(args, given)...)
	code, got := output(t, append(args, path, "--features", features)...)
	if code != 0 || got != want {
		t.Errorf("exit code %d; --features gives %s and the same embedding %s", code, got, want)
	}
	code, _, errors := calibra(t, "evaluate", "--in", path, "--features", features, "--embedding", "embedding")
	if want := "--embedding and --features both name where to measure locally; give one of them"; code != exitUsage || !strings.Contains(errors, want) {
		t.Errorf("exit code %d, %s; want %s", code, errors, want)
	}
}

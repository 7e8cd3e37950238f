package cli

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"calibra/data"
	"calibra/experiments/method"
	"calibra/experiments/run"
	"calibra/graph"
	"calibra/graph/op"
	"calibra/layers"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Mine is softmax(t·log p̂), with one learned t.
type Mine struct{}

func (Mine) Init(s layers.Sizes, rng *rand.Rand) (*graph.Weights, error) {
	w := graph.NewWeights(tensor.Float64)
	w.Add("mine/t", []float64{1}, 1)
	return w, nil
}

func (Mine) LogProbs(b *graph.Builder, in layers.Batch) *gorgonia.Node {
	return b.LogSoftmax(b.Apply(op.TimesScalar(), in.LogProbs, b.Weight("mine/t")))
}

// TestMethodFromOutside: fit, apply, compare, study and methods know a method that is
// handed to the command, and a saved model of it is read back by its name.
func TestMethodFromOutside(t *testing.T) {
	mine := method.OnCodewords("mine", "one temperature on the quantized head", Mine{})
	in, dir := write(t, features(200)), t.TempDir()
	fitted, applied := filepath.Join(dir, "fit"), filepath.Join(dir, "applied.npz")
	for _, args := range [][]string{
		{"fit", "--in", in, "--method", "mine", "--set", "codebook.codewords=8", "--out", fitted},
		{"apply", "--model", fitted, "--in", in, "--out", applied},
		{"compare", "--in", in, "--methods", "mine,ts", "--out", filepath.Join(dir, "compare")},
		{"study", "main", "--data", in, "--methods", "mine,ts", "--seeds", "1", "--set", "codebook.codewords=8", "--out", filepath.Join(dir, "study")},
		{"methods"},
	} {
		var code int
		var stdout string
		stderr := captured(t, &os.Stderr, func() {
			stdout = captured(t, &os.Stdout, func() { code = execute(args, mine) })
		})
		if code != 0 {
			t.Fatalf("%s exits %d: %s", args[0], code, stderr)
		}
		if args[0] != "apply" && args[0] != "study" && args[0] != "fit" && !strings.Contains(stdout, "mine") {
			t.Errorf("%s does not name it:\n%s", args[0], stdout)
		}
	}
	results, err := os.ReadFile(filepath.Join(dir, "study", "results.csv"))
	if err != nil || !strings.Contains(string(results), ",mine,") {
		t.Errorf("the study is without it (%v)", err)
	}
	if code, _, stderr := calibra(t, "apply", "--model", fitted, "--in", in, "--out", applied); code != exitUsage || !strings.Contains(stderr, `no method "mine"`) {
		t.Errorf("without the method apply exits %d: %s", code, stderr)
	}
}

// TestSettingsReachTheModel and come back from its file: a slot scale that is learned is
// a weight more than the default has.
func TestSettingsReachTheModel(t *testing.T) {
	in, out := write(t, features(200)), filepath.Join(t.TempDir(), "run")
	src, err := data.Open(in)
	if err != nil {
		t.Fatal(err)
	}
	spec := run.Spec{Method: "vq", Split: "paper", Set: "codebook.codewords=8 bilinear.scale=learned calibrate.epochs=3 divide.epochs=2"}
	fit, err := spec.Fit(t.Context(), src, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := fit.Stages; got[0].Result.Epochs != 2 || got[1].Result.Epochs != 3 {
		t.Errorf("the stages ran %d and %d epochs", got[0].Result.Epochs, got[1].Result.Epochs)
	}
	if err := os.MkdirAll(out, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := fit.Write(out); err != nil {
		t.Fatal(err)
	}
	if _, _, err := method.Load(filepath.Join(out, "model.safetensors")); err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(filepath.Join(out, "config.json"))
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Slots    int
		Settings map[string]any
	}
	if err := json.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	if config.Slots != 8 || config.Settings["bilinear.scale"] != "learned" || config.Settings["divide.epochs"] != 2.0 || config.Settings["optim.rate"] != 1e-3 {
		t.Errorf("config.json says %s", text)
	}
}

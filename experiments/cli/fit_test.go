package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"calibra/data"
	"calibra/experiments/method"
	"calibra/experiments/run"
	"calibra/layers"
	"calibra/layers/anchored"

	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"
)

// TestFitShowsShares of the candidates, which add up to 1.
func TestFitShowsShares(t *testing.T) {
	t.Run("pool", func(t *testing.T) { showsShares(t, "pool", 2) })
	t.Run("corrected", func(t *testing.T) { showsShares(t, "corrected", len(anchored.JointMaps())) })
}

func showsShares(t *testing.T, method string, candidates int, settings ...string) {
	in, out := write(t, features(300)), filepath.Join(t.TempDir(), "run")
	code, stdout, stderr := calibra(t, append([]string{"fit", "--in", in, "--method", method, "--out", out}, settings...)...)
	if code != 0 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	lines := strings.Split(stdout, "\n")
	head := slices.IndexFunc(lines, func(line string) bool { return strings.HasSuffix(strings.TrimSpace(line), "share") })
	if head < 0 {
		t.Fatalf("no shares are shown in\n%s", stdout)
	}
	lines = lines[head:]
	var sum float64
	for _, line := range lines[1 : 1+candidates] {
		words := strings.Fields(line)
		share, err := strconv.ParseFloat(words[len(words)-1], 64)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		sum += share
	}
	if !scalar.EqualWithinAbs(sum, 1, 0.0005*float64(candidates)) { // each is rounded to three places
		t.Errorf("the shares add up to %v in\n%s", sum, stdout)
	}
	if !strings.HasPrefix(lines[1+candidates], "the held-out NLL of "+method+" is ") {
		t.Errorf("the loss of all is missing in\n%s", stdout)
	}
	code, _, stderr = calibra(t, "apply", "--in", in, "--model", filepath.Join(out, "model.safetensors"), "--out", filepath.Join(out, "applied.npz"))
	if code != 0 {
		t.Errorf("the model cannot be applied: %s", stderr)
	}
}

// TestNamesOfClassesReachThePredictions: of labels that are names in a csv, by the model, to rows
// of another file that have not all of them.
func TestNamesOfClassesReachThePredictions(t *testing.T) {
	dir := t.TempDir()
	in, more := filepath.Join(dir, "f.csv"), filepath.Join(dir, "more.csv")
	header := "set,feature_age,feature_size,logit_ant,logit_bee,logit_wasp,label\n"
	var all, few strings.Builder
	all.WriteString(header)
	few.WriteString(header)
	for i := range 120 {
		name, part := []string{"ant", "bee", "wasp"}[i%3], []string{"cal", "test"}[i/80]
		line := fmt.Sprintf("%s,%d,%d,%d,%d,%d,%s\n", part, i%7, i%5, i%3*2, i%4, i%6, name)
		all.WriteString(line)
		if part == "test" && name != "ant" {
			few.WriteString(line)
		}
	}
	for path, text := range map[string]string{in: all.String(), more: few.String()} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	run, out := filepath.Join(dir, "run"), filepath.Join(dir, "p.npz")
	for _, args := range [][]string{{"fit", "--in", in, "--method", "ts", "--out", run}, {"apply", "--in", more, "--model", run, "--out", out, "--accept-shift"}} {
		if code, _, stderr := calibra(t, args...); code != 0 {
			t.Fatalf("%s exits %d: %s", args[0], code, stderr)
		}
	}
	p, err := data.ReadPredictions(out)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(p.ClassNames, []string{"ant", "bee", "wasp"}) || slices.Min(p.Labels) != 1 || slices.Max(p.Labels) != 2 {
		t.Errorf("classes %q, labels %v", p.ClassNames, p.Labels)
	}
}

// TestFitKnowsTheClassesOfAllParts: without logits a class that only test rows have is one of
// the model's.
func TestFitKnowsTheClassesOfAllParts(t *testing.T) {
	arrays := features(300)
	arrays[5].Value.([]int)[7] = 3
	in, dir := write(t, slices.DeleteFunc(arrays, func(a data.Array) bool { return strings.HasSuffix(a.Name, "_logits") })), t.TempDir()
	for _, split := range []string{"paper", "tables", "none"} {
		out := filepath.Join(dir, split)
		code, _, stderr := calibra(t, append([]string{"fit", "--method", "vq", "--in", in, "--split", split, "--set", "optim.epochs=2", "--out", out}, small...)...)
		if code != 0 || !strings.Contains(stderr, "no calibration row is of class [3]") {
			t.Fatalf("%s: exit code %d: %s", split, code, stderr)
		}
		probs, err := data.ReadMatrix(filepath.Join(out, "predictions.npz"), "probs")
		if err != nil {
			t.Fatal(err)
		}
		if _, classes := probs.Dims(); classes != 4 {
			t.Errorf("%s: the model has %d classes", split, classes)
		}
	}
}

// TestFitRefusesFeaturesOutOfReach: codewords of such features cannot be told apart.
func TestFitRefusesFeaturesOutOfReach(t *testing.T) {
	scaled := func(by float64, names ...string) []data.Array {
		arrays := features(300)
		for _, a := range arrays {
			if slices.Contains(names, a.Name) {
				a.Value.(*mat.Dense).Scale(by, a.Value.(*mat.Dense))
			}
		}
		return arrays
	}
	out, run := filepath.Join(t.TempDir(), "out"), filepath.Join(t.TempDir(), "run")
	if code, _, stderr := calibra(t, append([]string{"fit", "--method", "vq", "--in", write(t, scaled(1e15, "cal_features", "test_features")), "--set", "optim.epochs=2", "--out", run}, small...)...); code != 0 {
		t.Fatalf("features of 1e15: exit code %d: %s", code, stderr)
	}
	large := write(t, scaled(1e30, "cal_features", "test_features"))
	for _, args := range [][]string{
		append([]string{"fit", "--method", "vq", "--in", large, "--out", out}, small...),
		append([]string{"fit", "--in", large, "--method", "anchored-bilinear", "--out", out}, small...),
		{"apply", "--in", large, "--model", run, "--out", out + ".npz"},
	} {
		code, _, stderr := calibra(t, args...)
		if code != exitUsage || !strings.Contains(stderr, "scale the features down") {
			t.Errorf("%v: exit code %d: %s", args, code, stderr)
		}
	}
}

// written is a run whose files come to this end.
type written struct{ err error }

func (w written) Write(string) error { return w.err }

// TestInterruptedFitSaysWhatBecameOfTheModel: that it was not there, was lost or is kept.
func TestInterruptedFitSaysWhatBecameOfTheModel(t *testing.T) {
	c := fitCmd{Method: "vq", Out: "runs/vq"}
	for want, err := range map[string]error{
		"vq was not fitted yet and nothing was written": fmt.Errorf("state: %w", layers.ErrUnfitted),
		"is lost: data: write x: no space left":         fmt.Errorf("data: write x: %w", syscall.ENOSPC),
		"as far as it was learned is in runs/vq":        nil,
	} {
		got := c.interrupted(written{err}, fmt.Errorf("interrupted in epoch 3: %w", context.Canceled))
		if !strings.Contains(got.Error(), want) || ExitCode(got) != exitInterrupted {
			t.Errorf("%v does not say %q", got, want)
		}
	}
}

// TestFitSaysHarm: of a method that is worse than the classifier the verdict names what is not,
// and the commands that fit and apply that.
func TestFitSaysHarm(t *testing.T) {
	in, out := write(t, features(300)), filepath.Join(t.TempDir(), "run")
	code, stdout, stderr := calibra(t, "fit", "--in", in, "--method", "vq", "--set", "codebook.slots=4", "--set", "codebook.codewords=2", "--set", "optim.epochs=1", "--out", out, "--json")
	var printed struct {
		Before  []map[string]any `json:"before_and_after"`
		Verdict struct {
			Say, Method string
			Avoid       []string `json:"do_not_use"`
			Commands    []string
		}
	}
	if err := json.Unmarshal([]byte(stdout), &printed); code != 0 || err != nil {
		t.Fatalf("exits %d, %v: %s%s", code, err, stdout, stderr)
	}
	if v := printed.Verdict; v.Say != "use" || v.Method != "ts" || !slices.Equal(v.Avoid, []string{"vq"}) || len(printed.Before) != 4 || printed.Before[0]["ece_floor"] == nil {
		t.Fatalf("one epoch of vq: %+v", printed)
	}
	for _, command := range printed.Verdict.Commands {
		args := strings.Fields(strings.ReplaceAll(strings.ReplaceAll(command, " runs/ts", " "+filepath.Join(out, "ts")), " calibrated.npz", " "+filepath.Join(out, "c.npz")))
		if code, _, stderr := calibra(t, args[1:]...); args[0] != "calibra" || code != 0 {
			t.Errorf("%s exits %d: %s", command, code, stderr)
		}
	}
}

// TestFitBroughtData: data of the program are fitted and applied by their names.
func TestFitBroughtData(t *testing.T) {
	out := filepath.Join(t.TempDir(), "run")
	if code, _, stderr := calibra(t, "fit", "--in", "cubic", "--method", "ts", "--out", out); code != 0 {
		t.Fatal(stderr)
	}
	if code, stdout, stderr := calibra(t, "apply", "--in", "cubic", "--model", out, "--out", filepath.Join(out, "c.npz")); code != 0 || !strings.Contains(stdout, "rows calibrated by ts") {
		t.Errorf("%s%s", stdout, stderr)
	}
}

// TestDefaultMethod: where none is named, fit takes the recommended method, or tells which array of the rows it lacks
// and takes the one in its place; the help of fit and compare, the README and the quickstart name the same.
func TestDefaultMethod(t *testing.T) {
	recommended := (*method.Catalog)(nil).Recommended()
	without := func(key string) []data.Array {
		return slices.DeleteFunc(features(80), func(a data.Array) bool { return strings.HasSuffix(a.Name, key) })
	}
	for _, c := range []struct {
		rows         []data.Array
		method, told string
	}{
		{features(80), recommended.Name, ""},
		{without("_features"), method.Instead[0], "features.npz has no cal_features that the default method pool needs; sm is fitted in its place"},
		{without("_logits"), method.Instead[1], "features.npz has no cal_logits that the default method pool needs; vq is fitted in its place"},
		{without("test_features"), method.Instead[0], "features.npz has no test_features "},
		{features(method.FewestRows - 1), method.Few, "features.npz has 63 calibration rows, fewer than the 64 that the default method pool needs; ts with temperature.prior=.2 is fitted in its place"},
	} {
		out := filepath.Join(t.TempDir(), "run")
		code, _, stderr := calibra(t, "fit", "--quiet", "--in", write(t, c.rows), "--out", out)
		spec, err := run.ReadSpec(out)
		if code != 0 || err != nil || spec.Method != c.method || !strings.Contains(stderr, c.told) || c.told == "" && stderr != "" {
			t.Errorf("fit exits %d with %s (%v): %s\nwant %s and %q", code, spec.Method, err, stderr, c.method, c.told)
		}
	}
	if code, _, stderr := calibra(t, "fit", "--in", write(t, without("_features")), "--method", recommended.Name, "--out", filepath.Join(t.TempDir(), "run")); code != exitUsage || !strings.Contains(stderr, "has no cal_features") {
		t.Errorf("a method that is named exits %d: %s", code, stderr)
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, ofFit, _ := calibra(t, "fit", "--help")
	_, ofCompare, _ := calibra(t, "compare", "--help")
	for what, text := range map[string]string{"README": string(readme), "fit --help": ofFit, "compare --help": ofCompare} {
		for _, name := range append(slices.Clone(method.Instead), method.Few, recommended.Name) {
			if !strings.Contains(text, name) {
				t.Errorf("%s does not name %s", what, name)
			}
		}
	}
	if last := quickMethods[len(quickMethods)-1].name; last != recommended.Name {
		t.Errorf("the quickstart ends with %s", last)
	}
}

// TestFitWritesTheNetworkOfExport: fit --onnx writes what export --numbers float64 writes of the model, and says why
// where a method has no network.
func TestFitWritesTheNetworkOfExport(t *testing.T) {
	in, dir := write(t, features(80)), t.TempDir()
	for _, method := range []string{"ts", "ir", "vq", "pool", "kc"} {
		model, network, again := filepath.Join(dir, method), filepath.Join(dir, method+".onnx"), filepath.Join(dir, method+"-again.onnx")
		code, _, stderr := calibra(t, "fit", "--in", in, "--method", method, "--out", model, "--onnx", network)
		if code != 0 {
			t.Fatalf("%s: fit exits %d: %s", method, code, stderr)
		}
		written, err := os.ReadFile(network)
		if method == "kc" {
			if !os.IsNotExist(err) || !strings.Contains(stderr, "no network is written: kc cannot be written as ONNX") {
				t.Errorf("%s has a network (%v): %s", method, err, stderr)
			}
			continue
		}
		if code, _, stderr := calibra(t, "export", "--model", model, "--onnx", again, "--numbers", "float64"); code != 0 {
			t.Fatalf("%s: export exits %d: %s", method, code, stderr)
		}
		if exported, err := os.ReadFile(again); err != nil || !bytes.Equal(written, exported) {
			t.Errorf("%s: the network of fit has %d bytes, that of export %d (%v)", method, len(written), len(exported), err)
		}
	}
	if code, _, stderr := calibra(t, "fit", "--in", in, "--method", "ts", "--out", filepath.Join(dir, "none"), "--onnx", "m.npz"); code != 2 || !strings.Contains(stderr, "m.npz: ends in .npz") {
		t.Errorf("a name of another kind exits %d: %s", code, stderr)
	}
	if code, _, stderr := calibra(t, "fit", "--in", in, "--method", "ts", "--out", filepath.Join(dir, "ts"), "--onnx", filepath.Join(dir, "none", "m.onnx")); code == 0 || !strings.Contains(stderr, "cannot be written") {
		t.Errorf("a folder that is not there exits %d: %s", code, stderr)
	}
}

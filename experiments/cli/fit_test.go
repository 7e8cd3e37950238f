package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"calibra/data"
	"calibra/layers"
	"calibra/layers/anchored"

	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"
)

// TestFitAutoRanks: the candidates are shown in their order, one of them chosen, and
// the model that is written can be applied.
func TestFitAutoRanks(t *testing.T) {
	in, out := write(t, features(300)), filepath.Join(t.TempDir(), "run")
	code, stdout, stderr := calibra(t, append([]string{"fit", "--in", in, "--method", "auto", "--out", out}, small...)...)
	if code != 0 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	at := 0
	for _, name := range []string{"held-out NLL", "ts", "local-temperature", "anchored", "anchored-dirichlet", "anchored-head"} {
		next := strings.Index(stdout[at:], name)
		if next < 0 {
			t.Fatalf("%s is missing or out of order in\n%s", name, stdout)
		}
		at += next
	}
	if n := strings.Count(stdout, "chosen"); n != 1 {
		t.Errorf("%d candidates are chosen in\n%s", n, stdout)
	}
	code, _, stderr = calibra(t, "apply", "--in", in, "--model", filepath.Join(out, "model.safetensors"), "--out", filepath.Join(out, "applied.npz"))
	if code != 0 {
		t.Errorf("the model cannot be applied: %s", stderr)
	}
}

// TestFitStackedShowsShares of the same candidates, which add up to 1.
func TestFitStackedShowsShares(t *testing.T) {
	in, out := write(t, features(300)), filepath.Join(t.TempDir(), "run")
	code, stdout, stderr := calibra(t, append([]string{"fit", "--in", in, "--method", "stacked", "--out", out}, small...)...)
	if code != 0 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	lines := strings.Split(stdout, "\n")
	if !strings.HasSuffix(strings.TrimSpace(lines[0]), "share") {
		t.Fatalf("no shares are shown in\n%s", stdout)
	}
	var sum float64
	candidates := len(anchored.Maps())
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
	if !strings.HasPrefix(lines[1+candidates], "the mixture's held-out NLL is ") {
		t.Errorf("the mixture's loss is missing in\n%s", stdout)
	}
	code, _, stderr = calibra(t, "apply", "--in", in, "--model", filepath.Join(out, "model.safetensors"), "--out", filepath.Join(out, "applied.npz"))
	if code != 0 {
		t.Errorf("the model cannot be applied: %s", stderr)
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
		code, _, stderr := calibra(t, append([]string{"fit", "--in", in, "--split", split, "--set", "optim.epochs=2", "--out", out}, small...)...)
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
	if code, _, stderr := calibra(t, append([]string{"fit", "--in", write(t, scaled(1e15, "cal_features", "test_features")), "--set", "optim.epochs=2", "--out", run}, small...)...); code != 0 {
		t.Fatalf("features of 1e15: exit code %d: %s", code, stderr)
	}
	large := write(t, scaled(1e30, "cal_features", "test_features"))
	for _, args := range [][]string{
		append([]string{"fit", "--in", large, "--out", out}, small...),
		append([]string{"fit", "--in", large, "--method", "anchored", "--out", out}, small...),
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
		if !strings.Contains(got.Error(), want) || exitCode(got) != exitInterrupted {
			t.Errorf("%v does not say %q", got, want)
		}
	}
}

package cli

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"calibra/layers/anchored"

	"gonum.org/v1/gonum/floats/scalar"
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

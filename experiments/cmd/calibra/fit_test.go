package main

import (
	"path/filepath"
	"strings"
	"testing"
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

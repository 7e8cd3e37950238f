package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"calibra/experiments/verdict"
)

// TestCorrectionOfARun: a fit starts from the network's logits, so what it corrects must be what the run left of them.
func TestCorrectionOfARun(t *testing.T) {
	in := write(t, features(120))
	for _, c := range []struct {
		method string
		use    int // of verdict.Corrections
		want   string
	}{
		{"nc", 1, "calibra fit --in "},
		{"nc", 2, "calibra fit --in "},
		{"ts", 1, "calibra compare --in "},
		{"ts", 2, "calibra fit --in "},
		{"ts", 0, ""},
	} {
		out := filepath.Join(t.TempDir(), "run")
		if code, _, stderr := calibra(t, "fit", "--in", in, "--method", c.method, "--out", out); code != 0 {
			t.Fatal(stderr)
		}
		v := &verdict.Verdict{Say: verdict.Use, Method: verdict.Corrections[c.use]}
		corrections(v, filepath.Join(out, "predictions.npz"), in)
		got := strings.Join(v.Commands, "")
		if !strings.HasPrefix(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%s, correction %v: %q", c.method, c.use, got)
		}
	}
}

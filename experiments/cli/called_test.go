package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"calibra/experiments/diagnosis"
)

// TestCorrectionOfARun: a fit starts from the network's logits, so what it corrects must be what the run left of them.
func TestCorrectionOfARun(t *testing.T) {
	in := write(t, features(120))
	for _, c := range []struct {
		method string
		kind   diagnosis.Kind
		want   string
	}{
		{"nc", diagnosis.GlobalError, "calibra fit --in "},
		{"nc", diagnosis.BothErrors, "calibra fit --in "},
		{"ts", diagnosis.GlobalError, "calibra compare --in "},
		{"ts", diagnosis.BothErrors, "calibra fit --in "},
		{"ts", diagnosis.NoError, ""},
	} {
		out := filepath.Join(t.TempDir(), "run")
		if code, _, stderr := calibra(t, "fit", "--in", in, "--method", c.method, "--out", out); code != 0 {
			t.Fatal(stderr)
		}
		got := correction(c.kind, filepath.Join(out, "predictions.npz"), in)
		if !strings.HasPrefix(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%s, kind %v: %q", c.method, c.kind, got)
		}
	}
}

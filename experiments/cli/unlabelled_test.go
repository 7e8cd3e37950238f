package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTestRowsWithoutLabels: fit answers them as apply does, and leaves the metrics out in one sentence.
func TestTestRowsWithoutLabels(t *testing.T) {
	text := "logit_0,logit_1,label,set,groups\n"
	for i := range 40 {
		text += []string{"1,0,a,cal,n\n", "0.5,1,b,cal,n\n", "2,0,b,cal,s\n", "2.5,1,,test,s\n"}[i%4]
	}
	dir := t.TempDir()
	in, out, applied := filepath.Join(dir, "f.csv"), filepath.Join(dir, "run"), filepath.Join(dir, "p.npz")
	if err := os.WriteFile(in, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	code, said, stderr := calibra(t, "fit", "--in", in, "--method", "ts", "--out", out)
	if code != 0 || !strings.Contains(said, "predictions of 10 test rows") || !strings.Contains(said, "metrics are left out") {
		t.Fatalf("fit exits %d: %s%s", code, said, stderr)
	}
	if code, _, stderr := calibra(t, "apply", "--model", out, "--in", in, "--out", applied); code != 0 {
		t.Fatalf("apply exits %d: %s", code, stderr)
	}
	files := map[string][]byte{}
	for _, path := range []string{applied, filepath.Join(out, "predictions.npz"), filepath.Join(out, "metrics.json")} {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Base(path)] = b
	}
	if !bytes.Equal(files["p.npz"], files["predictions.npz"]) || bytes.Contains(files["p.npz"], []byte("labels.npy")) || !bytes.Contains(files["p.npz"], []byte("groups.npy")) {
		t.Error("fit and apply write other predictions, or labels, or no groups")
	}
	if bytes.Contains(files["metrics.json"], []byte(`"metrics"`)) {
		t.Errorf("metrics.json is %s", files["metrics.json"])
	}
}

package cli

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"
)

// snapshot is what every file below dir holds.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			var text []byte
			text, err = os.ReadFile(path)
			all[path] = string(text)
		} else {
			all[path] = e.Type().String()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestHostileModel: a folder that somebody else made, whose manifest and links ask for files
// elsewhere to be written and removed, is read as it is.
func TestHostileModel(t *testing.T) {
	in, root := write(t, features(60)), t.TempDir()
	outside, dir := filepath.Join(root, "outside"), filepath.Join(root, "m")
	if code, _, stderr := calibra(t, "fit", "--in", in, "--method", "ts", "--out", dir); code != 0 {
		t.Fatal(stderr)
	}
	pending := filepath.Join(dir, ".calibra.pending")
	stage := filepath.Join(pending, "link")
	for _, at := range []string{outside, stage} {
		if err := os.MkdirAll(at, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	planted := sha256.Sum256([]byte("planted"))
	for path, text := range map[string]string{
		filepath.Join(outside, "keep.txt"):      "kept",
		filepath.Join(outside, "gone.txt"):      "kept",
		filepath.Join(stage, "keep.txt"):        "planted",
		filepath.Join(stage, "new.txt"):         "planted",
		filepath.Join(pending, "manifest.json"): fmt.Sprintf(`{"format":"calibra folder 1","groups":{"fit":{"link/keep.txt":"%x","link/new.txt":"%[1]x","link/gone.txt":""}}}`, planted),
	} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	before, out := snapshot(t, root), t.TempDir()
	predictions := filepath.Join(dir, "predictions.npz")
	for _, args := range [][]string{
		{"apply", "--model", dir, "--in", in, "--out", filepath.Join(out, "p.npz")},
		{"evaluate", "--in", predictions, "--redraws", "0", "--replicates", "0"},
		{"export", "--model", dir, "--onnx", filepath.Join(out, "m.onnx")},
		{"diagnose", "--in", predictions, "--features", in, "--redraws", "20", "--out", filepath.Join(out, "d")},
		{"compare", "--in", filepath.Join(dir, "features.npz"), "--out", filepath.Join(out, "c")},
		{"encode", "--model", dir, "--out", filepath.Join(out, "e.npz")},
		{"study", "main", "--data", filepath.Join(dir, "features.npz"), "--out", filepath.Join(out, "s")},
	} {
		if code, _, stderr := calibra(t, args...); code != 0 && code != 2 {
			t.Errorf("%s exits %d: %s", args[0], code, stderr)
		}
		if after := snapshot(t, root); !maps.Equal(after, before) {
			t.Fatalf("%s changed what is there: %v", args[0], after)
		}
	}
	if code, _, stderr := calibra(t, "fit", "--in", in, "--method", "ts", "--out", dir); code != 0 {
		t.Error(stderr)
	}
	for name, text := range map[string]string{"keep.txt": "kept", "gone.txt": "kept"} {
		if have, err := os.ReadFile(filepath.Join(outside, name)); err != nil || string(have) != text {
			t.Errorf("after a fit %s holds %q, %v", name, have, err)
		}
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 2 {
		t.Errorf("after a fit there are %v, %v", entries, err)
	}
}

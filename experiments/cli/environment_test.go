package cli

import (
	"path/filepath"
	"testing"
)

// TestNoTemporaryDirectory: no command needs one, also where it draws.
func TestNoTemporaryDirectory(t *testing.T) {
	in, dir := write(t, features(60)), t.TempDir()
	t.Setenv("TMPDIR", filepath.Join(dir, "none"))
	if code, _, stderr := calibra(t, "fit", "--in", in, "--method", "ts", "--out", filepath.Join(dir, "run"), "--figures", filepath.Join(dir, "figures")); code != 0 {
		t.Errorf("fit exits %d: %s", code, stderr)
	}
}

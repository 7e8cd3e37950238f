//go:build unix

package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestLittleIsTold: a shell that allows too little for any work is told so in a sentence.
func TestLittleIsTold(t *testing.T) {
	in, out := write(t, features(60)), filepath.Join(t.TempDir(), "run")
	for limit, want := range map[string]string{"-n 6": "ulimit -n 16", "-n 10": "ulimit -n 16", "-v 1500000": "ulimit -v 4194304"} {
		c := exec.Command("sh", "-c", "ulimit "+limit+" && exec "+os.Args[0]+" fit --in "+in+" --method ts --out "+out)
		c.Env = append(os.Environ(), asCommand+"=1")
		text, err := c.CombinedOutput()
		if err == nil || c.ProcessState.ExitCode() != 1 || !strings.Contains(string(text), want) || strings.Count(string(text), "\n") != 1 {
			t.Errorf("ulimit %s: %v: %s", limit, err, text)
		}
	}
	if code, _, stderr := calibra(t, "fit", "--in", in, "--method", "ts", "--out", out); code != 0 {
		t.Error(stderr)
	}
}

// TestNoTemporaryDirectory: no command needs one, also where it draws.
func TestNoTemporaryDirectory(t *testing.T) {
	in, dir := write(t, features(60)), t.TempDir()
	t.Setenv("TMPDIR", filepath.Join(dir, "none"))
	if code, _, stderr := calibra(t, "fit", "--in", in, "--method", "ts", "--out", filepath.Join(dir, "run"), "--figures", filepath.Join(dir, "figures")); code != 0 {
		t.Errorf("fit exits %d: %s", code, stderr)
	}
}

//go:build unix

package cli

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// TestSpecialFiles: what is no file is refused by what it is, wherever a file is read, and
// nobody waits for it.
func TestSpecialFiles(t *testing.T) {
	in, dir := write(t, features(60)), t.TempDir()
	run := filepath.Join(dir, "run")
	if code, _, stderr := calibra(t, "fit", "--in", in, "--method", "ts", "--out", run); code != 0 {
		t.Fatal(stderr)
	}
	pipe, socket := filepath.Join(dir, "pipe.npz"), filepath.Join(dir, "socket.npz")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	if l, err := net.Listen("unix", socket); err == nil {
		defer l.Close()
	}
	link := filepath.Join(dir, "link.npz")
	if err := os.Symlink(pipe, link); err != nil {
		t.Fatal(err)
	}
	out, predictions := filepath.Join(dir, "out.npz"), filepath.Join(run, "predictions.npz")
	commands := [][]string{
		{"fit", "--in", "SPECIAL", "--method", "ts", "--out", out},
		{"apply", "--model", run, "--in", "SPECIAL", "--out", out},
		{"evaluate", "--in", "SPECIAL"},
		{"diagnose", "--in", "SPECIAL", "--out", out},
		{"diagnose", "--in", predictions, "--features", "SPECIAL", "--out", out},
		{"compare", "--in", "SPECIAL", "--methods", "ts", "--out", out},
		{"study", "main", "--data", "SPECIAL", "--out", out},
		{"pretrain", "--data", "SPECIAL", "--out", out},
	}
	for special, what := range map[string]string{pipe: "not a file but a pipe", link: "not a file but a pipe", socket: "not a file but a socket", "/dev/zero": "not a file but a device", dir: "not a file but a directory"} {
		for _, args := range commands {
			args = slices.Clone(args)
			args[slices.Index(args, "SPECIAL")] = special
			code, _, stderr := calibra(t, args...)
			raw := (args[0] == "pretrain" || args[0] == "study") && (special == "/dev/zero" || special == dir) // told as no data that is known
			if code != 2 || strings.Count(stderr, "\n") != 1 || !raw && !strings.Contains(stderr, what) {
				t.Errorf("%s exits %d: %s", strings.Join(args, " "), code, stderr)
			}
		}
	}
	// In the place of the files of a model.
	for _, name := range []string{"manifest.json", "embedding.npz", "model.safetensors"} {
		path := filepath.Join(run, name)
		if err := os.Rename(path, path+".kept"); err != nil {
			if err := os.WriteFile(path+".kept", nil, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
		if code, _, stderr := calibra(t, "apply", "--model", run, "--in", in, "--out", out); code != 2 || !strings.Contains(stderr, "not a file but a pipe") {
			t.Errorf("%s: apply exits %d: %s", name, code, stderr)
		}
		if err := os.Rename(path+".kept", path); err != nil {
			t.Fatal(err)
		}
	}
	code, _, stderr := calibra(t, "apply", "--model", run, "--in", in, "--out", pipe)
	if code != 2 || !strings.Contains(stderr, "a pipe") {
		t.Errorf("apply to a pipe exits %d: %s", code, stderr)
	}
}

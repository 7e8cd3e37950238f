package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"calibra/data/disk"
)

// TestWorker: a worker answers line after line what the command says alone, whatever the lines before were. At the end
// of its input it ends too, in the middle of a fit, and removes the folder that was handed to it.
func TestWorker(t *testing.T) {
	in, folder := write(t, features(200)), filepath.Join(t.TempDir(), "folder")
	if err := disk.MkdirAll(folder); err != nil {
		t.Fatal(err)
	}
	w := newWorkerProcess(t)
	w.send(t, request{Folder: folder})
	for _, args := range [][]string{
		{"fit", "--in", in, "--method", "ts", "--out", filepath.Join(folder, "run"), "--json"},
		{"fit", "--in", in, "--method", "nosuch", "--out", folder},
		{"--version"},
		{"methods", "vq", "--json"},
		{"apply", "--model", filepath.Join(folder, "run"), "--in", in, "--out", filepath.Join(folder, "said.npz"), "--json"},
		{"fit", "--in", in, "--method", "ts", "--out", filepath.Join(folder, "run"), "--json"},
		{"methods", "--help"},
	} {
		w.send(t, request{Args: args})
		said, err := w.out.ReadString(endMark[0])
		code, err2 := w.out.ReadString('\n')
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		alone := exec.Command(os.Args[0], args...)
		alone.Env = w.Env
		text, _ := alone.Output()
		took := regexp.MustCompile(`"seconds": [^,\n]*`)
		if said, want := took.ReplaceAllString(said, ""), took.ReplaceAllString(string(text), "")+endMark; said != want {
			t.Errorf("%s: says %q, and alone %q", args, said, want)
		}
		if want := alone.ProcessState.ExitCode(); code != string(rune('0'+want))+"\n" {
			t.Errorf("%s: ends with %q, and alone with %d", args, code, want)
		}
	}
	long := []string{"fit", "--in", in, "--method", "vq", "--set", "codebook.slots=4", "--out", filepath.Join(folder, "long")}
	w.send(t, request{Args: append(long, "--set", "optim.epochs=1000000", "--set", "optim.patience=1000000")})
	w.in.Close()
	if err := w.Wait(); err != nil {
		t.Errorf("it ends with %v", err)
	}
	if _, err := os.Stat(folder); err == nil {
		t.Error("it leaves its folder")
	}
}

// TestWorkerReadsRequests: a line that is none ends it.
func TestWorkerReadsRequests(t *testing.T) {
	w := newWorkerProcess(t)
	if _, err := io.WriteString(w.in, "fit\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, w.out); err != nil {
		t.Fatal(err)
	}
	said := "each a line of JSON"
	if err := w.Wait(); err == nil || w.ProcessState.ExitCode() != exitUsage || !strings.Contains(w.told.String(), said) {
		t.Errorf("it ends with %v: %s", w.ProcessState, w.told.String())
	}
}

// workerProcess is a worker in a process of its own.
type workerProcess struct {
	*exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	told strings.Builder
}

func newWorkerProcess(t *testing.T) *workerProcess {
	t.Helper()
	w := &workerProcess{Cmd: exec.Command(os.Args[0], worker)}
	w.Env, w.Stderr = append(slices.Clone(os.Environ()), asCommand+"=1", "GOMAXPROCS=1", "CALIBRA_DEVICE=cpu"), &w.told
	in, err := w.StdinPipe()
	out, err2 := w.StdoutPipe()
	if err := errors.Join(err, err2, w.Start()); err != nil {
		t.Fatal(err)
	}
	w.in, w.out = in, bufio.NewReader(out)
	t.Cleanup(func() { _ = w.Process.Kill() })
	return w
}

func (w *workerProcess) send(t *testing.T, r request) {
	t.Helper()
	if err := json.NewEncoder(w.in).Encode(r); err != nil {
		t.Fatal(err)
	}
}

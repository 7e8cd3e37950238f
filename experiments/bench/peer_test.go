package bench_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestPeerChoosesItsKernels: the peer loads its libraries without the machine's settings of
// OpenBLAS, which slow it.
func TestPeerChoosesItsKernels(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3")
	}
	dir := t.TempDir() // a torch that says what the library would read, and ends
	torch := "import os, sys\nprint([k for k in os.environ if k.startswith('OPENBLAS')])\nsys.exit(0)\n"
	if err := os.WriteFile(filepath.Join(dir, "torch.py"), []byte(torch), 0o666); err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile("peer_torch.py") // read here, so that a change of it is another test
	if err != nil {
		t.Fatal(err)
	}
	peer := exec.CommandContext(t.Context(), python, "-")
	peer.Stdin = bytes.NewReader(script)
	peer.Env = append(os.Environ(), "PYTHONPATH="+dir, "OPENBLAS_CORETYPE=Haswell", "OPENBLAS_L2_SIZE=2048")
	said, err := peer.CombinedOutput()
	if err != nil || strings.TrimSpace(string(said)) != "[]" {
		t.Errorf("the peer's library would read %s: %v", said, err)
	}
}

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestPeersChooseTheirKernels: a peer loads its libraries without the machine's settings of
// OpenBLAS, which slow it.
func TestPeersChooseTheirKernels(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3")
	}
	dir := t.TempDir() // a torch that says what the library would read, and ends
	torch := "import os, sys\nprint([k for k in os.environ if k.startswith('OPENBLAS')])\nsys.exit(0)\n"
	if err := os.WriteFile(filepath.Join(dir, "torch.py"), []byte(torch), 0o666); err != nil {
		t.Fatal(err)
	}
	for name, arguments := range map[string][]string{"peer_torch.py": nil, "peers.py": {"eager"}} {
		script, err := os.ReadFile(name) // read here, so that a change of it is another test
		if err != nil {
			t.Fatal(err)
		}
		peer := exec.CommandContext(t.Context(), python, append([]string{"-"}, arguments...)...)
		peer.Stdin = bytes.NewReader(script)
		peer.Env = append(os.Environ(), "PYTHONPATH="+dir, "OPENBLAS_CORETYPE=Haswell", "OPENBLAS_L2_SIZE=2048")
		said, err := peer.CombinedOutput()
		if err != nil || strings.TrimSpace(string(said)) != "[]" {
			t.Errorf("%s: its library would read %s: %v", name, said, err)
		}
	}
}

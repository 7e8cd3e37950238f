package experiments_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"calibra/data"
)

// TestExportFeatures runs the Python of notebooks/export_features.md, section by
// section, and reads what it wrote.
func TestExportFeatures(t *testing.T) {
	if testing.Short() {
		t.Skip("importing PyTorch takes seconds")
	}
	text, err := os.ReadFile(filepath.Join("..", "notebooks", "export_features.md"))
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]string{} // of Python, by their titles
	for _, section := range strings.Split(string(text), "\n## ")[1:] {
		title, rest, _ := strings.Cut(section, "\n")
		for _, block := range strings.Split(rest, "\n```python\n")[1:] {
			code, _, ended := strings.Cut(block, "\n```")
			if !ended {
				t.Fatalf("%s: a block does not end", title)
			}
			sections[title] += code + "\n"
		}
	}
	for title, c := range map[string]struct {
		module string
		files  []string
	}{"PyTorch": {"torch", []string{"torch.npz"}}, "scikit-learn": {"sklearn", []string{"forest.npz", "mlp.npz"}}} {
		t.Run(title, func(t *testing.T) {
			python := ""
			for _, candidate := range []string{"python3", "/usr/bin/python3"} {
				if exec.Command(candidate, "-c", "import numpy, "+c.module).Run() == nil {
					python = candidate
					break
				}
			}
			if python == "" {
				t.Skipf("there is no python3 with %s", c.module)
			}
			dir := t.TempDir()
			cmd := exec.CommandContext(t.Context(), python, "-c", sections[title])
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			for _, name := range c.files {
				src, err := data.Open(filepath.Join(dir, name))
				if err != nil {
					t.Error(err)
					continue
				}
				if err := src.Require("cal_features", "cal_logits", "cal_labels", "test_features", "test_logits", "test_labels"); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

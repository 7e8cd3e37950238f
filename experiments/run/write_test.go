package run_test

import (
	"os"
	"path/filepath"
	"testing"

	"calibra/experiments/run"
)

// TestPrepareDirUndone: undo removes the directories that were made, those above the last
// one too, and none that was there or holds something.
func TestPrepareDirUndone(t *testing.T) {
	root := t.TempDir()
	undo, err := run.PrepareDir(filepath.Join(root, "runs", "a", "b"), "test")
	if err != nil {
		t.Fatal(err)
	}
	undo()
	if left, err := os.ReadDir(root); err != nil || len(left) > 0 {
		t.Errorf("left behind %v, %v", left, err)
	}
	if undo, err = run.PrepareDir(filepath.Join(root, "runs", "a"), "test"); err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join(root, "runs", "kept")
	if err := os.WriteFile(kept, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	undo()
	if _, err := os.Stat(kept); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(root, "runs", "a")); err == nil {
		t.Error("what was made is still there")
	}
}

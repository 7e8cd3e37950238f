package disk

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"calibra/data"
)

func TestWriteFileReplacesWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.json")
	for _, content := range []string{"first", "2nd"} {
		if err := WriteFile(path, func(w io.Writer) error { _, err := io.WriteString(w, content); return err }); err != nil {
			t.Fatal(err)
		}
		if got, _ := os.ReadFile(path); string(got) != content {
			t.Errorf("got %q, want %q", got, content)
		}
	}
}

func TestWriteFileLeavesOldOnFailure(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out.json")
	if err := os.WriteFile(path, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	boom := errors.New("boom")
	err := WriteFile(path, func(w io.Writer) error { io.WriteString(w, "half"); return boom })
	if !errors.Is(err, boom) {
		t.Errorf("got %v", err)
	}
	func() {
		defer func() { recover() }()
		WriteFile(path, func(w io.Writer) error { panic("boom") })
	}()
	if got, _ := os.ReadFile(path); string(got) != "old" {
		t.Errorf("the old file became %q", got)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("left behind %v", left)
	}
}

func TestWriteFileBadDirectory(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "taken"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(dir, "none", "x"), filepath.Join(file, "x"), filepath.Join(dir, "taken")} {
		err := WriteFile(path, func(io.Writer) error { return nil })
		var input *data.InputError
		if !errors.As(err, &input) {
			t.Errorf("%s: got %v, want an InputError", path, err)
		}
	}
}

// TestWriteFileThroughLink: a link stays one, and the file it points to is replaced.
func TestWriteFileThroughLink(t *testing.T) {
	file, link := filepath.Join(t.TempDir(), "file"), filepath.Join(t.TempDir(), "link")
	if err := os.WriteFile(file, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(file, link); err != nil {
		t.Skip(err) // a file system without links
	}
	if err := WriteBytes(link, []byte("new")); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(file); string(got) != "new" {
		t.Errorf("the file holds %q", got)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is none any more: %v", err)
	}
}

func TestWriteNPZRefusesUnknownValues(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.npz")
	if err := WriteNPZ(path, data.Array{Name: "x", Value: "text"}, data.Array{Name: "y", Value: struct{}{}}); err == nil {
		t.Error("a struct was written")
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 0 {
		t.Errorf("left behind %v", left)
	}
}

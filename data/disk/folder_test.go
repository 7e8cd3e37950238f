package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"calibra/data"
)

// run writes a folder of three files, the third below another directory, each with content.
func run(dir, content string) error {
	f := NewFolder(dir, "test")
	defer f.Discard()
	for _, name := range []string{"a", "b", "below/c"} {
		if err := f.WriteBytes(name, []byte(name+" "+content)); err != nil {
			return err
		}
	}
	return f.Commit()
}

// holds returns the content of the folder in dir, an error if its files differ in it.
func holds(dir string) (string, error) {
	h, err := Hold(filepath.Join(dir, "a"))
	if err != nil {
		return "", err
	}
	defer h.Release()
	all := ""
	for _, name := range []string{"a", "b", "below/c"} {
		text, err := os.ReadFile(h.Path(filepath.Join(dir, name)))
		if err != nil {
			return "", err
		}
		_, content, _ := strings.Cut(string(text), " ")
		if all == "" {
			all = content
		}
		if content != all {
			return "", fmt.Errorf("%s is of %s beside one of %s", name, content, all)
		}
	}
	return all, nil
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

func TestFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "run")
	for _, content := range []string{"first", "second"} {
		if err := run(dir, content); err != nil {
			t.Fatal(err)
		}
		if got, err := holds(dir); err != nil || got != content {
			t.Fatalf("holds %q, %v", got, err)
		}
	}
	if got := fmt.Sprint(names(t, dir)); got != "[a b below manifest.json]" {
		t.Errorf("there are %s", got)
	}
	// A set without one of the files removes it; foreign files stay.
	foreign := filepath.Join(dir, "notes")
	if err := os.WriteFile(foreign, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	f := NewFolder(dir, "test")
	if err := f.WriteBytes("a", []byte("a third")); err != nil {
		t.Fatal(err)
	}
	f.Absent("b")
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(names(t, dir)); got != "[a below manifest.json notes]" {
		t.Errorf("there are %s", got)
	}
	// Another group shares the directory, but not the files.
	other := NewFolder(dir, "other")
	other.WriteBytes("d", nil)
	if err := other.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := PrepareFolder(dir, "other", "a"); !errors.As(err, new(*data.InputError)) || !strings.Contains(err.Error(), "holds a of calibra test") {
		t.Errorf("got %v", err)
	}
	other = NewFolder(dir, "other")
	other.WriteBytes("a", nil)
	if err := other.Commit(); !errors.As(err, new(*data.InputError)) {
		t.Errorf("got %v", err)
	}
	if text, _ := os.ReadFile(filepath.Join(dir, "a")); string(text) != "a third" {
		t.Errorf("a became %q", text)
	}
}

// TestFolderMixed: a file of another run is told, one that is missing is not, and neither
// are files that no manifest knows.
func TestFolderMixed(t *testing.T) {
	dir := t.TempDir()
	if err := run(dir, "first"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "b"), []byte("b of another"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Hold(filepath.Join(dir, "a")); !errors.As(err, new(*data.InputError)) || !strings.Contains(err.Error(), "b is not the one that calibra test wrote") {
		t.Errorf("got %v", err)
	}
	for _, name := range []string{"b", "manifest.json"} {
		os.Remove(filepath.Join(dir, name))
		h, err := Hold(filepath.Join(dir, "a"), filepath.Join(dir, "notes"))
		if err != nil {
			t.Fatalf("without %s: %v", name, err)
		}
		h.Release()
	}
	manifest := filepath.Join(dir, "manifest.json")
	if err := os.WriteFile(manifest, []byte(`{"name":"a web page"}`), 0o666); err != nil {
		t.Fatal(err)
	}
	h, err := Hold(filepath.Join(dir, "a"))
	if err != nil {
		t.Fatalf("somebody else's manifest: %v", err)
	}
	h.Release()
	if err := run(dir, "second"); !errors.As(err, new(*data.InputError)) {
		t.Errorf("over somebody else's manifest: %v", err)
	}
	if err := os.WriteFile(manifest, []byte(`{"format":"calibra folder 1","groups":{"test":{"../x":""}}}`), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := run(dir, "second"); !errors.As(err, new(*data.InputError)) {
		t.Errorf("a manifest of files elsewhere: %v", err)
	}
}

// TestFolderAtOnce: of many who write into one directory, readers see one at a time.
func TestFolderAtOnce(t *testing.T) {
	dir := t.TempDir()
	if err := run(dir, "0"); err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			for k := range 10 {
				if err := run(dir, strconv.Itoa(10*i+k)); err != nil {
					t.Error(err)
				}
			}
		})
		wait.Go(func() {
			for range 20 {
				if _, err := holds(dir); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	if got := fmt.Sprint(names(t, dir)); got != "[a b below manifest.json]" {
		t.Errorf("there are %s", got)
	}
}

// TestFolderFails: what cannot be written whole leaves what was there.
func TestFolderFails(t *testing.T) {
	dir := t.TempDir()
	if err := run(dir, "old"); err != nil {
		t.Fatal(err)
	}
	boom := errors.New("no space left on device")
	f := NewFolder(dir, "test")
	f.WriteBytes("a", []byte("a new"))
	if err := f.WriteFile("b", func(w io.Writer) error { io.WriteString(w, "b n"); return boom }); !errors.Is(err, boom) {
		t.Errorf("got %v", err)
	}
	f.Discard()
	f.Discard()
	if got, err := holds(dir); err != nil || got != "old" {
		t.Errorf("holds %q, %v", got, err)
	}
	if got := fmt.Sprint(names(t, dir)); got != "[a b below manifest.json]" {
		t.Errorf("there are %s", got)
	}
	if err := os.Mkdir(filepath.Join(dir, "taken"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := f.WriteBytes("taken", nil); !errors.As(err, new(*data.InputError)) {
		t.Errorf("a directory of that name: %v", err)
	}
	if err := NewFolder(filepath.Join(dir, "a"), "test").WriteBytes("x", nil); !errors.As(err, new(*data.InputError)) {
		t.Errorf("a file instead of the directory: %v", err)
	}
}

// tree is all that is below dir: of files what they hold, of links where they point.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		switch e.Type() {
		case 0:
			text, err := os.ReadFile(path)
			all[name] = "file " + string(text)
			return err
		case fs.ModeSymlink:
			to, err := os.Readlink(path)
			all[name] = "link " + to
			return err
		}
		all[name] = e.Type().String()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

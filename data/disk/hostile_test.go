package disk

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"calibra/data"
)

// hostile is a folder that somebody made to have files outside of it changed: what is in
// it, links as "-> target", and whether a command may write its results there.
type hostile struct {
	files    map[string]string
	writable bool
}

const planted = "planted"

// plantedDigest is the SHA-256 of planted.
const plantedDigest = "372eb3774802a8d97badd0f3afdabbf7a17ef8a1f900b394db99a460b893406c"

func promises(names ...string) string {
	group := ""
	for _, name := range names {
		group += fmt.Sprintf("%q:%q,", name, plantedDigest)
	}
	return fmt.Sprintf(`{"format":"calibra folder 1","groups":{"test":{%s"gone/keep.txt":"","link/gone.txt":""}}}`, group)
}

var hostiles = map[string]hostile{
	"a linked directory":         {map[string]string{"manifest.json": promises("link/keep.txt", "link/new.txt"), "link": "-> ../outside", ".calibra.pending/link/keep.txt": planted, ".calibra.pending/link/new.txt": planted}, true},
	"a link within a link":       {map[string]string{"manifest.json": promises("link/deep/keep.txt"), "link": "-> .", "deep": "-> ../outside", ".calibra.pending/link/deep/keep.txt": planted}, true},
	"a linked file":              {map[string]string{"manifest.json": promises("a"), "a": "-> ../outside/keep.txt", ".calibra.pending/a": planted}, true},
	"a linked manifest":          {map[string]string{"manifest.json": "-> ../outside/manifest.json", ".calibra.pending/keep.txt": planted}, false},
	"a linked manifest there":    {map[string]string{".calibra.pending/manifest.json": "-> ../../outside/manifest.json", ".calibra.pending/keep.txt": planted}, true},
	"a linked stage":             {map[string]string{"manifest.json": promises("keep.txt"), ".calibra.pending": "-> ../outside"}, true},
	"a linked file in the stage": {map[string]string{"manifest.json": promises("a"), ".calibra.pending/a": "-> ../../outside/keep.txt"}, true},
	"a file elsewhere":           {map[string]string{"manifest.json": promises("../outside/keep.txt"), ".calibra.pending/outside/keep.txt": planted}, false},
	"an absolute path":           {map[string]string{"manifest.json": promises("/tmp/keep.txt"), ".calibra.pending/tmp/keep.txt": planted}, false},
	"the directory itself":       {map[string]string{"manifest.json": promises("."), ".calibra.pending/a": planted}, false},
	"the manifest":               {map[string]string{"manifest.json": promises("manifest.json"), ".calibra.pending/manifest.json": planted}, false},
	"a linked temporary file":    {map[string]string{"manifest.json": promises("a"), ".manifest.json.999999999@h.0": "-> ../outside/keep.txt", ".a.999999999@h.0": "-> ../outside/keep.txt"}, true},
	"a linked place for results": {map[string]string{"manifest.json": promises("a"), "below": "-> ../outside"}, false},
	"a hard link":                {map[string]string{"manifest.json": promises("a"), "a": "=> ../outside/keep.txt", "b": "=> ../outside/keep.txt", ".calibra.pending/a": planted}, true},
}

// plant makes the files in dir.
func plant(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, what := range files {
		path := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o777)
		switch {
		case err != nil:
		case what[:3] == "-> ":
			err = os.Symlink(what[3:], path)
		case what[:3] == "=> ":
			err = os.Link(filepath.Join(dir, what[3:]), path)
		default:
			err = os.WriteFile(path, []byte(strings.TrimPrefix(what, "<- ")), 0o666)
		}
		if err != nil {
			t.Skip(err) // a system without links
		}
	}
}

// TestHostileFolder: who reads a folder changes nothing in it, whatever it holds, and who
// writes there changes nothing outside.
func TestHostileFolder(t *testing.T) {
	cases := maps.Clone(hostiles)
	for name, h := range hostiles { // and of a commit that is to be finished
		if what := h.files["manifest.json"]; strings.HasPrefix(what, "{") && h.files[pending] == "" {
			files := maps.Clone(h.files)
			delete(files, "manifest.json")
			files[".calibra.pending/manifest.json"] = what
			cases[name+" to come"] = hostile{files, h.writable}
		}
	}
	for name, h := range cases {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			outside, dir := filepath.Join(root, "outside"), filepath.Join(root, "m")
			plant(t, outside, map[string]string{"keep.txt": "kept", "gone.txt": "kept", "a": planted, "manifest.json": promises("keep.txt")})
			plant(t, dir, h.files)
			before, mine := tree(t, outside), tree(t, dir)
			if held, err := Hold(filepath.Join(dir, "a")); err == nil {
				held.Release()
			} else if !errors.As(err, new(*data.InputError)) {
				t.Errorf("a reader is told %v", err)
			}
			_ = CheckAlone(filepath.Join(dir, "a"))
			if after := tree(t, dir); !maps.Equal(after, mine) {
				t.Errorf("a reader made %v of %v", after, mine)
			}
			err := PrepareFolder(dir, "test", "a", "b", "below/c")
			if err == nil {
				err = run(dir, "new")
			}
			if h.writable {
				if got, err := holds(dir); err != nil || got != "new" {
					t.Errorf("holds %q, %v", got, err)
				}
			}
			if h.writable != (err == nil) || err != nil && !errors.As(err, new(*data.InputError)) {
				t.Errorf("a writer is told %v", err)
			}
			if after := tree(t, outside); !maps.Equal(after, before) {
				t.Errorf("outside there is %v, was %v", after, before)
			}
		})
	}
}

// TestLinkedFolder: a directory may be named by a link of the user's own.
func TestLinkedFolder(t *testing.T) {
	root := t.TempDir()
	dir, link := filepath.Join(root, "run"), filepath.Join(root, "link")
	plant(t, root, map[string]string{"run/notes": "mine", "link": "-> run"})
	if err := PrepareFolder(link, "test", "a", "b", "below/c"); err != nil {
		t.Fatal(err)
	}
	if err := run(link, "new"); err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{dir, link} {
		if got, err := holds(at); err != nil || got != "new" {
			t.Errorf("%s holds %q, %v", at, got, err)
		}
	}
}

// FuzzManifest: whatever a manifest says, reading and writing beside it touches no file
// elsewhere and ends in a run that is whole, or in an input error.
func FuzzManifest(f *testing.F) {
	f.Add([]byte(`{"format":"calibra folder 1","groups":{"test":{"a":"","b":"00","below/c":""},"other":{"x":""}}}`))
	f.Add([]byte(`{"format":"calibra folder 1","groups":{"test":{"../x":"","/x":"","":"","manifest.json":"","a/b":"1"}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, at := range []string{manifestName, filepath.Join(pending, manifestName)} {
			root := t.TempDir()
			dir := filepath.Join(root, "run")
			plant(t, root, map[string]string{"x": "kept", "run/a": "kept"})
			plant(t, dir, map[string]string{at: "<- " + string(text)})
			if h, err := Hold(filepath.Join(dir, "a")); err == nil {
				h.Release()
			} else if !errors.As(err, new(*data.InputError)) {
				t.Fatalf("%v is no input error", err)
			}
			if err := run(dir, "new"); err == nil {
				if got, err := holds(dir); err != nil || got != "new" {
					t.Fatalf("holds %q, %v", got, err)
				}
			}
			if kept, err := os.ReadFile(filepath.Join(root, "x")); err != nil || string(kept) != "kept" {
				t.Fatalf("a file elsewhere is %q, %v", kept, err)
			}
			if entries, _ := os.ReadDir(root); len(entries) != 2 {
				t.Fatalf("there are %v", entries)
			}
		}
	})
}

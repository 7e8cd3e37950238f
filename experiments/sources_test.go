package experiments

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestSources: the digest of a package changes with its files and with those of the packages
// below it, and with no others; files that are newer than the program are not its own.
func TestSources(t *testing.T) {
	if a, b := (Spec{Method: "ts"}).Sources(), (Spec{Method: "vq"}).Sources(); a == "" || a != b {
		t.Errorf("of one module the digests are %q and %q", a, b)
	}
	old := time.Now().Add(-24 * time.Hour)
	digest := func(files map[string]string, when time.Time) string {
		t.Helper()
		root := t.TempDir()
		for name, text := range files {
			path := filepath.Join(root, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(path, when, when); err != nil {
				t.Fatal(err)
			}
		}
		w, sum := wares{dirs: map[string]string{"example.org/own/top": filepath.Join(root, "top")}}, sha256.New()
		if err := w.below(sum); err != nil {
			return ""
		}
		return hex.EncodeToString(sum.Sum(nil))
	}
	files := func(changed string) map[string]string {
		all := map[string]string{
			"go.mod":                "module example.org/own\n",
			"top/a.go":              "package top\n\nimport (\n\t\"fmt\"\n\n\t\"example.org/own/below\"\n)\n\nvar _ = fmt.Sprint(below.X)\n",
			"top/table/numbers.csv": "1\n",
			"top/a_test.go":         "package top\n",
			"below/b.go":            "package below\n\nconst X = 1\n",
			"other/c.go":            "package other\n",
		}
		if changed != "" {
			all[changed] += "// more\n"
		}
		return all
	}
	want := digest(files(""), old)
	for changed, differs := range map[string]bool{"top/a.go": true, "top/table/numbers.csv": true, "below/b.go": true, "other/c.go": false, "top/a_test.go": false} {
		if got := digest(files(changed), old); want == "" || got == "" || (got != want) != differs {
			t.Errorf("%s changed: %q, %q before", changed, got, want)
		}
	}
	if got := digest(files(""), time.Now().Add(time.Hour)); got != "" {
		t.Errorf("files of tomorrow have the digest %q", got)
	}
	missing := files("")
	delete(missing, "below/b.go")
	if got := digest(missing, old); got != "" {
		t.Errorf("without a package below the digest is %q", got)
	}
}

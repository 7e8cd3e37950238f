package readme

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const root = "../.."

// TestREADME: what stands in the repository is what its result files say.
func TestREADME(t *testing.T) {
	files, err := Generate(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f.Stale != nil {
			t.Errorf("%s: %v; run go run ./experiments/cmd/calibra readme", f.Path, f.Stale)
		}
	}
}

// clone copies what Generate reads into a directory that a test may spoil.
func clone(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, results), os.DirFS(filepath.Join(root, results))); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"README.md", "experiments/readme/calsize.svg"} {
		content, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func edit(t *testing.T, path, old, new string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(text), old, new, 1)
	if changed == string(text) {
		t.Fatalf("%s does not hold %q", path, old)
	}
	if err := os.WriteFile(path, []byte(changed), 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestStale: a digit changed in the README, in a result file, or in the picture shows,
// and what Generate says puts it right.
func TestStale(t *testing.T) {
	for name, spoil := range map[string]struct {
		file, old, new string
		want           []string
	}{
		"a number":          {"README.md", "| published implementation | 0.45034 |", "| published implementation | 0.45035 |", []string{"region reference"}},
		"a benchmark":       {results + "/bench.jsonl", `"lce_s_c10":`, `"lce_s_c11":`, []string{"region bench"}},
		"a quickstart":      {results + "/quickstart.csv", "nc,the network as it is,0.", "nc,the network as it is,9.", []string{"region quickstart"}},
		"a reference":       {results + "/published.csv", "0.45034", "0.5", []string{"region reference"}},
		"a text in between": {"README.md", "## Theory", "## Theories", nil},
		"a picture":         {"experiments/readme/calsize.svg", "<svg", "<svg ", []string{"the picture"}},
	} {
		dir := clone(t)
		edit(t, filepath.Join(dir, spoil.file), spoil.old, spoil.new)
		files, err := Generate(dir)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var stale []string
		for _, f := range files {
			stale = append(stale, f.Stale...)
			if err := os.WriteFile(f.Path, f.Content, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if strings.Join(stale, ", ") != strings.Join(spoil.want, ", ") {
			t.Errorf("%s: stale is %q, not %q", name, stale, spoil.want)
		}
		files, err = Generate(dir)
		if err != nil || files[0].Stale != nil || files[1].Stale != nil {
			t.Errorf("%s: stale after it was generated: %v", name, err)
		}
	}
}

// TestMarks: a README whose regions cannot be found is refused, never skipped.
func TestMarks(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"unknown":    {"<!-- calibra:begin b -->\n<!-- calibra:end -->\n", "no region"},
		"unended":    {"<!-- calibra:begin a -->\n", "no \"<!-- calibra:end"},
		"nested":     {"<!-- calibra:begin a -->\n<!-- calibra:begin a -->\n<!-- calibra:end -->\n", "no \"<!-- calibra:end"},
		"missing":    {"nothing", "is missing"},
		"twice":      {"<!-- calibra:begin a -->\n<!-- calibra:end -->\n<!-- calibra:begin a -->\n<!-- calibra:end -->\n", "twice"},
		"misspelled": {"<!-- calibra:begin a-->\n<!-- calibra:end -->\n", "no region"},
	} {
		if _, _, err := fill([]byte(c.text), map[string]string{"a": "1\n"}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	out, stale, err := fill([]byte("x\n<!-- calibra:begin a -->\n0\n<!-- calibra:end -->\ny\n"), map[string]string{"a": "1\n"})
	if err != nil || string(out) != "x\n<!-- calibra:begin a -->\n1\n<!-- calibra:end -->\ny\n" || len(stale) != 1 {
		t.Errorf("%q %v %v", out, stale, err)
	}
}

// TestMedian takes the middle run, the mean of the middle two, and none of none.
func TestMedian(t *testing.T) {
	run := func(x float64) map[string]any { return map[string]any{"k": x} }
	if x, n := median([]map[string]any{run(3), {"other": 1.0}, run(1), run(9)}, "k"); x != 3 || n != 3 {
		t.Errorf("%v of %d", x, n)
	}
	if x, n := median([]map[string]any{run(3), run(1)}, "k"); x != 2 || n != 2 {
		t.Errorf("%v of %d", x, n)
	}
	if _, n := median(nil, "k"); n != 0 {
		t.Error(n)
	}
	for x, want := range map[float64]string{289034.2: "289,000 rows/s", 949.9: "900 rows/s", 1234567: "1,234,600 rows/s"} {
		if got := figure(x, true); got != want {
			t.Errorf("%v is %s", x, got)
		}
	}
}

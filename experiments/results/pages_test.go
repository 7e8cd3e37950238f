package main

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
			t.Errorf("%s: %v; run go run ./experiments/results", f.Path, f.Stale)
		}
	}
}

// clone copies what Generate reads into a directory that a test may spoil.
func clone(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, folder), os.DirFS(filepath.Join(root, folder))); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(dir, "experiments/paper"), os.DirFS(filepath.Join(root, "experiments/paper"))); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "README.md"), content, 0o666); err != nil {
		t.Fatal(err)
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

// TestStale: a digit changed in a page or in a result file shows, and what
// Generate says puts it right.
func TestStale(t *testing.T) {
	for name, spoil := range map[string]struct {
		file, old, new string
		want           []string
	}{
		"a number":          {folder + "/paper.md", "| 0.45034 |", "| 0.45035 |", []string{"table published.csv"}},
		"a quickstart":      {folder + "/quickstart.csv", "nc,the network itself,0.", "nc,the network itself,9.", []string{"lines quickstart.csv"}},
		"a reference":       {folder + "/published.csv", "0.45034", "0.5", []string{"table published.csv"}},
		"a text in between": {"README.md", "## Further", "## More", nil},
	} {
		dir := clone(t)
		edit(t, filepath.Join(dir, spoil.file), spoil.old, spoil.new)
		stale := generate(t, dir)
		if strings.Join(stale, ", ") != strings.Join(spoil.want, ", ") {
			t.Errorf("%s: stale is %q, not %q", name, stale, spoil.want)
		}
		if again := generate(t, dir); again != nil {
			t.Errorf("%s: stale after it was generated: %q", name, again)
		}
	}
}

// generate writes what Generate makes and says what was stale.
func generate(t *testing.T, dir string) (stale []string) {
	t.Helper()
	files, err := Generate(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		stale = append(stale, f.Stale...)
		if err := os.WriteFile(f.Path, f.Content, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return stale
}

// TestMarks: a page whose marks cannot be read is refused, never skipped.
func TestMarks(t *testing.T) {
	dir := filepath.Join(root, folder)
	table := "<!-- calibra:table file=published.csv rows=metric values=mean as=text -->\n"
	for name, c := range map[string]struct{ text, want string }{
		"unknown":    {"<!-- calibra:b -->\n<!-- calibra:end -->\n", "no mark"},
		"unended":    {table, "no \"<!-- calibra:end"},
		"nested":     {table + table + "<!-- calibra:end -->\n", "no \"<!-- calibra:end"},
		"misspelled": {"<!-- calibra:table-->\n<!-- calibra:end -->\n", "no mark"},
		"argument":   {"<!-- calibra:table flie=published.csv -->\n<!-- calibra:end -->\n", "no \"flie\""},
		"file":       {"<!-- calibra:table file=no.csv rows=metric values=mean -->\n<!-- calibra:end -->\n", "cannot be opened"},
		"column":     {"<!-- calibra:table file=published.csv rows=metric values=median -->\n<!-- calibra:end -->\n", "no column \"median\""},
		"row":        {"<!-- calibra:table file=published.csv rows=metric:brier values=mean -->\n<!-- calibra:end -->\n", "no line whose metric"},
	} {
		if _, _, err := fill(dir, []byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	out, stale, err := fill(dir, []byte("x\n"+table+"0\n<!-- calibra:end -->\ny\n"))
	if err != nil || len(stale) != 1 || !strings.Contains(string(out), "| NLL ↓ | 0.45034 |\n") || !strings.HasSuffix(string(out), end+"\ny\n") {
		t.Errorf("%q %v %v", out, stale, err)
	}
}

// TestNumbersOfTheText: a number of the text must stand in a table of its page.
func TestNumbersOfTheText(t *testing.T) {
	table := "<!-- calibra:table x -->\n| a | .123 | 0.77 |\n<!-- calibra:end -->\n"
	for text, fine := range map[string]bool{
		"a has .123.": true, "a has 0.123": true, "and .77,": true, "a has .124": false, "`0.99` in code": true,
		"    x 3.14\n": true, "[link](a-1.25.md)": true, "with Go 1.25": true, "and PyTorch 2.15.0": true, "    indented\n\nand .124": false, "```\n.99\n```\nand .124": false, "5 %, 0.9": true, "1.123": false,
	} {
		if err := checkNumbers([]byte(table + text)); (err == nil) != fine {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestEveryNumberOfAPageIsChecked: a wrong digit in the first, the middle and the last number of a page's text is
// found.
func TestEveryNumberOfAPageIsChecked(t *testing.T) {
	files, err := Generate(root)
	if err != nil {
		t.Fatal(err)
	}
	changed := 0
	for _, f := range files {
		page := string(f.Content)
		said := decimal.FindAllString(prose(f.Content), -1)
		for _, at := range []int{0, len(said) / 2, len(said) - 1} {
			if len(said) == 0 {
				break
			}
			x := said[at]
			wrong := x + "7" // a digit more than any table has
			parts := generated.Split(page, -1)
			for i, part := range parts {
				parts[i] = strings.ReplaceAll(part, x, wrong)
			}
			tables := strings.Join(generated.FindAllString(page, -1), "\n")
			if err := checkNumbers([]byte(tables + strings.Join(parts, "\n"))); err == nil {
				t.Errorf("%s: %s in place of %s is not found", f.Path, wrong, x)
			}
			changed++
		}
	}
	if changed < 15 {
		t.Errorf("%d numbers were changed; the pages have more", changed)
	}
}

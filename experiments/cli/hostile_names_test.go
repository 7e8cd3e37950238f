package cli

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"calibra/data"
)

// hostileNames are what a terminal, a spreadsheet, a browser, LaTeX or a parser would obey.
var hostileNames = []string{
	"\x1b]0;X\x07 \x1b[2J \u202egnp.exe \u2066x \u009b2J \x7f", "a\nb\tc\rd", "=1+1|cmd", "\t@SUM(A1)",
	"<script>alert(1)</script><img src=x onerror=alert(1)>", "'\"><svg/onload=1>{{.Title}}",
	`\input{/etc/passwd} $\write18{x}$ a & b \\ % x^2~y_z#{ |a|`, "", "../../%s%n%d" + strings.Repeat(" long", 200),
}

// text is an array of n texts of one name, as numpy saves it.
func text(key, name string, n int) data.Array {
	letters := []rune(strings.ToValidUTF8(name, "\ufffd"))
	letters = letters[:min(len(letters), 60)]
	return data.Array{Name: key, Value: data.Written{Type: fmt.Sprintf("<U%d", max(1, len(letters))), Shape: []int{n}, Write: func(w io.Writer) error {
		var one []byte
		for _, r := range append(letters, make([]rune, max(0, 1-len(letters)))...) {
			one = append(one, byte(r), byte(r>>8), byte(r>>16), 0)
		}
		_, err := w.Write(bytes.Repeat(one, n))
		return err
	}}}
}

var (
	element = regexp.MustCompile(`<(script>alert|img src=x|svg/onload)`)
	tex     = regexp.MustCompile(`\\(input|write18)`)
)

// harmlessFile tells what a program that reads the file would obey.
func harmlessFile(path string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	switch filepath.Ext(path) {
	case ".csv":
		records, err := csv.NewReader(bytes.NewReader(content)).ReadAll()
		if err != nil {
			return err
		}
		for _, record := range records {
			for _, field := range record {
				if _, err := strconv.ParseFloat(field, 64); err != nil && field != "" && strings.ContainsRune("=+-@\t\r", rune(field[0])) {
					return fmt.Errorf("holds the formula %.60q", field)
				}
			}
		}
	case ".html", ".md", ".svg":
		if found := element.Find(content); found != nil {
			return fmt.Errorf("holds %q", found)
		}
	case ".tex":
		if found := tex.Find(content); found != nil {
			return fmt.Errorf("holds %q", found)
		}
	case ".json":
		if !json.Valid(content) {
			return fmt.Errorf("is no JSON")
		}
	}
	return nil
}

// obeyed is what a terminal would obey in what was printed, -1 if nothing.
func obeyed(printed string) int {
	if !utf8.ValidString(printed) {
		return 0
	}
	return strings.IndexFunc(printed, func(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsGraphic(r) })
}

// FuzzHostileNames gives commands names from files and flags, whatever they are: nothing of what is printed or written
// is obeyed by who shows it. Its seeds take more than 5 s, as each is the name in nine commands.
func FuzzHostileNames(f *testing.F) {
	for _, name := range hostileNames {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		dir := t.TempDir()
		grouped, named, _ := writeDiagnosable(t, 120, text("groups", name, 120))
		in, name := write(t, features(60)), strings.ToValidUTF8(name, "?")
		if file := strings.NewReplacer("/", "_", "\x00", "_").Replace(name); len(file) < 200 { // a file of that name
			path := filepath.Join(dir, file+".npz")
			if content, err := os.ReadFile(in); err == nil && os.WriteFile(path, content, 0o666) == nil {
				in = path
			}
		}
		settings := filepath.Join(dir, "settings.yaml")
		key, _ := json.Marshal(name)
		if err := os.WriteFile(settings, append(key, ": 1\n"...), 0o666); err != nil {
			t.Fatal(err)
		}
		table := filepath.Join(dir, "table.csv")
		var rows bytes.Buffer
		w := csv.NewWriter(&rows)
		for i := range 40 {
			_ = w.Write([]string{strconv.Itoa(i), strconv.Itoa(i * i % 7), []string{name + "x", "b"}[i%2]})
		}
		w.Flush()
		if err := os.WriteFile(table, rows.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		for i, args := range [][]string{
			{"diagnose", "--in", grouped, "--features", named, "--redraws", "19", "--out", filepath.Join(dir, "diagnosis")},
			{"diagnose", "--in", grouped, "--features", named, "--redraws", "19", "--json", "--out", filepath.Join(dir, "diagnosis")},
			{"evaluate", "--in", grouped, "--redraws", "0", "--replicates", "0", "--html", filepath.Join(dir, "page.html")},
			{"compare", "--in", in, "--methods", "ts,nc", "--seeds", "1", "--out", filepath.Join(dir, "compared")},
			{"fit", "--in", in, "--method", "ts", "--set", settings, "--out", filepath.Join(dir, "fitted")},
			{"fit", "--in", in, "--method", "ts", "--set", strings.ReplaceAll(name, "\x00", "") + "=1", "--out", filepath.Join(dir, "fitted")},
			{"fit", "--in", filepath.Join(dir, "none"+strings.ReplaceAll(name, "\x00", "")), "--method", strings.ReplaceAll(name, "\x00", ""), "--out", filepath.Join(dir, "fitted")},
			{"pretrain", "--data", table, "--encoder", "mlp", "--network", `{"hidden":[2]}`, "--epochs", "1", "--out", filepath.Join(dir, "trained")},
			{"pretrain", "--data", table, "--label", name, "--out", filepath.Join(dir, "none")},
		} {
			code, stdout, stderr := calibra(t, args...)
			for _, printed := range []string{stdout, stderr} {
				if at := obeyed(printed); at >= 0 {
					t.Errorf("%q exits %d and prints %.80q", args, code, printed[max(0, at-20):])
				}
			}
			if code == 70 || code == 1 || i < 4 && code != 0 {
				t.Errorf("%q exits %d: %.400s", args, code, stderr)
			}
			if args[len(args)-3] == "--json" && !json.Valid([]byte(stdout)) {
				t.Errorf("%q prints no JSON: %.200s", args, stdout)
			}
		}
		err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
			if err == nil && e.Type().IsRegular() && path != table && path != settings {
				if err := harmlessFile(path); err != nil {
					t.Errorf("of the name %.60q %s %v", name, path, err)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

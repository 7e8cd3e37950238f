package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// TestFormsOfRows: every command takes rows of every form. A csv file of the same rows gives what the npz file gives,
// and a csv file of raw rows, as the program's own data, has a network trained on some of them, which commands that
// judge have to be asked for.
func TestFormsOfRows(t *testing.T) {
	dir := t.TempDir()
	npz, table, raw := write(t, features(160)), filepath.Join(dir, "features.csv"), filepath.Join(dir, "raw.csv")
	writeTables(t, table, raw)
	said := map[string]string{}
	for i, in := range []string{npz, table, raw, "digits"} {
		out := func(name string) string { return filepath.Join(dir, fmt.Sprint(i), name) }
		for _, args := range [][]string{
			{"fit", "--in", in, "--method", "ts", "--out", out("fit")},
			{"apply", "--model", out("fit"), "--in", in, "--out", out("p.npz")},
			{"compare", "--in", in, "--methods", "nc,ts", "--seeds", "1", "--out", out("compare")},
			{"study", "main", "--data", in, "--methods", "nc,ts", "--seeds", "1", "--out", out("study")},
			{"evaluate", "--in", in, "--replicates", "0", "--redraws", "0", "--folds", "0", "--html", out("page.html"), "--json"},
			{"diagnose", "--in", in, "--redraws", "19", "--rows", "20", "--out", out("diagnosis")},
		} {
			if in == "digits" && args[0] != "compare" && args[0] != "evaluate" {
				continue // its network takes a second, and raw.csv goes the same way
			}
			if judges := args[0] == "evaluate" || args[0] == "diagnose"; in == raw && judges {
				if code, _, stderr := calibra(t, args...); code != exitUsage || !strings.Contains(stderr, "holds raw rows and no predictions") || !strings.Contains(stderr, "--encoder mlp") {
					t.Errorf("%s of raw rows exits %d: %s", args[0], code, stderr)
				}
				args = append(args, "--encoder", "mlp")
			}
			code, stdout, stderr := calibra(t, args...)
			if code != 0 {
				t.Errorf("%s of %s exits %d: %s", args[0], filepath.Base(in), code, stderr)
			}
			if trains := strings.Contains(stderr, "holds raw rows"); trains != (i >= 2) && args[0] != "compare" && args[0] != "study" {
				t.Errorf("%s of %s: that a network is trained is told, %v: %s", args[0], filepath.Base(in), trains, stderr)
			}
			if args[0] == "evaluate" {
				said[in] = stdout
			}
		}
	}
	if said[npz] != said[table] {
		t.Errorf("evaluate says %s of the npz file and %s of the csv file", said[npz], said[table])
	}
	for want, args := range map[string][]string{
		"did you mean digits?": {"fit", "--in", "digitz", "--out", filepath.Join(dir, "none")},
		"is no raw table":      {"fit", "--in", npz, "--label", "kind", "--out", filepath.Join(dir, "none")},
	} {
		if code, _, stderr := calibra(t, args...); code != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("%v exits %d without %q: %s", args, code, want, stderr)
		}
	}
}

// writeTables writes the rows of features(160) as a csv file of features, and their features and labels as
// a csv file of raw rows.
func writeTables(t *testing.T, table, raw string) {
	t.Helper()
	var rows, bare strings.Builder
	rows.WriteString("set,label,logit_0,logit_1,logit_2")
	for j := range 8 {
		fmt.Fprintf(&rows, ",feature_%d", j)
		fmt.Fprintf(&bare, "x%d,", j)
	}
	rows.WriteString("\n")
	bare.WriteString("kind\n")
	arrays := map[string]any{}
	for _, a := range features(160) {
		arrays[a.Name] = a.Value
	}
	numbers := func(row []float64) string { return strings.Trim(strings.ReplaceAll(fmt.Sprint(row), " ", ","), "[]") }
	for _, part := range []string{"cal", "test"} {
		x, logits, labels := arrays[part+"_features"].(*mat.Dense), arrays[part+"_logits"].(*mat.Dense), arrays[part+"_labels"].([]int)
		for i, y := range labels {
			fmt.Fprintf(&rows, "%s,%d,%s,%s\n", part, y, numbers(logits.RawRowView(i)), numbers(x.RawRowView(i)))
			fmt.Fprintf(&bare, "%s,%c\n", numbers(x.RawRowView(i)), 'p'+y)
		}
	}
	for path, text := range map[string]string{table: rows.String(), raw: bare.String()} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

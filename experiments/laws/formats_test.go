package laws

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"calibra/data"

	"gonum.org/v1/gonum/mat"
)

// TestEveryFormat: the same rows are the same sets, to the bit, as npz and as a table of csv, Parquet or Arrow:
// features, what is made of the logits, labels and weights.
func TestEveryFormat(t *testing.T) {
	for _, p := range problems {
		rows := weighted(p.file)
		want, err := opened(t, rows)
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		table := filepath.Join(dir, "f.csv")
		if err := os.WriteFile(table, rows.csv(), 0o666); err != nil {
			t.Fatal(err)
		}
		paths := []string{table}
		if python := os.Getenv("CALIBRA_PYTHON"); python == "" {
			t.Log("Parquet and Arrow are written in Python: set CALIBRA_PYTHON to one with pyarrow")
		} else {
			more := []string{filepath.Join(dir, "f.parquet"), filepath.Join(dir, "f.arrow")}
			program := "import sys, pyarrow.csv, pyarrow.parquet, pyarrow.feather; t = pyarrow.csv.read_csv(sys.argv[1]); pyarrow.parquet.write_table(t, sys.argv[2]); pyarrow.feather.write_feather(t, sys.argv[3])"
			if out, err := exec.Command(python, "-c", program, table, more[0], more[1]).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			paths = append(paths, more...)
		}
		for _, path := range paths {
			got, err := data.Open(path)
			if err == nil {
				err = got.Settle("")
			}
			if err != nil {
				t.Errorf("%s: %v", p.name, err)
				continue
			}
			for i, sets := range [][2]*data.Set{{got.Cal, want.Cal}, {got.Val, want.Val}, {got.Test, want.Test}} {
				switch a, b := sets[0], sets[1]; {
				case !slices.Equal(a.Labels, b.Labels):
					t.Errorf("%s, %s, %s: other labels", p.name, filepath.Ext(path), names[i])
				case !slices.Equal(a.Weights, b.Weights):
					t.Errorf("%s, %s, %s: other weights", p.name, filepath.Ext(path), names[i])
				case !mat.Equal(a.Features, b.Features):
					t.Errorf("%s, %s, %s: other features", p.name, filepath.Ext(path), names[i])
				case !mat.Equal(a.Logits, b.Logits):
					t.Errorf("%s, %s, %s: other logits", p.name, filepath.Ext(path), names[i])
				}
			}
		}
	}
}

// csv is the file, whose rows have weights, as a table with all digits.
func (f file) csv() []byte {
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	_, m := f.cal.features.Dims()
	_, c := f.cal.logits.Dims()
	var head []string
	for j := range m {
		head = append(head, fmt.Sprintf("feature_%d", j))
	}
	for k := range c {
		head = append(head, fmt.Sprintf("logit_%d", k))
	}
	_ = w.Write(append(head, "weights", "label", "set"))
	for i, part := range f.parts() {
		for r, y := range part.labels {
			var cells []string
			for _, v := range slices.Concat(part.features.RawRowView(r), part.logits.RawRowView(r), []float64{part.weights[r]}) {
				cells = append(cells, strconv.FormatFloat(v, 'g', -1, 64))
			}
			_ = w.Write(append(cells, strconv.Itoa(y), names[i]))
		}
	}
	w.Flush()
	return out.Bytes()
}

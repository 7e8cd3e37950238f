package data

import (
	"bytes"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// TestOpenTables reads what pyarrow 26.0 and pandas 3.1 wrote (testdata/tables/tables.py).
func TestOpenTables(t *testing.T) {
	files, err := filepath.Glob("testdata/tables/p*")
	if err != nil || len(files) != 9 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, path := range files {
		s, err := Open(path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if s.Classes != 3 || s.Val != nil || s.Cal.Len() != 3 || s.Test.Len() != 2 {
			t.Fatalf("%s: %d classes, %d and %d rows", path, s.Classes, s.Cal.Len(), s.Test.Len())
		}
		for k, set := range []*Set{s.Cal, s.Test} {
			for row, label := range set.Labels {
				i := row + 3*k
				if label != i%3 {
					t.Errorf("%s: row %d has label %d", path, i, label)
				}
				for j := range 3 {
					if f, z := set.Features.At(row, j), set.Logits.At(row, j); f != float64(i)+float64(j)/8 || z != float64(i*j%5)-1 {
						t.Errorf("%s: row %d has feature %v and logit %v", path, i, f, z)
					}
				}
			}
		}
	}
}

// TestTableRoundTrip: predictions and their embedding come back from every kind of file.
func TestTableRoundTrip(t *testing.T) {
	n := 3000 // more than a batch
	probs, embedding := mat.NewDense(n, 2, nil), mat.NewDense(n, 3, nil)
	labels := make([]int, n)
	for i := range n {
		p := float64(i) / float64(n)
		probs.SetRow(i, []float64{p, 1 - p})
		embedding.SetRow(i, []float64{p, -p, 1e-300})
		labels[i] = i % 2
	}
	for _, name := range []string{"p.npz", "p.parquet", "p.arrow", "p.FEATHER"} {
		path := filepath.Join(t.TempDir(), name)
		write := func() []byte {
			err := writeTable(path, Array{"probs", probs}, Array{"labels", labels}, Array{"embedding", embedding}, Array{"sets_level", []float64{0.9}})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
		if !bytes.Equal(write(), write()) {
			t.Errorf("%s: the same arrays give other bytes", name)
		}
		p, err := ReadPredictions(path)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got, err := ReadMatrix(path, "embedding"); err != nil || !mat.Equal(got, embedding) {
			t.Errorf("%s: the embedding changed on the way: %v", name, err)
		}
		if len(p.Labels) != n || p.Labels[1] != 1 || !mat.EqualApprox(expOf(p.LogProbs), probs, 1e-15) {
			t.Errorf("%s: the predictions changed on the way", name)
		}
		if has, err := HasArray(path, "sets_level"); err != nil || !has {
			t.Errorf("%s: has sets_level: %v, %v", name, has, err)
		}
	}
	if err := writeTable(filepath.Join(t.TempDir(), "p.parquet"), Array{"probs", probs}, Array{"labels", labels[:7]}); err == nil {
		t.Error("a table of columns of several lengths was written")
	}
}

func expOf(m *mat.Dense) *mat.Dense {
	var out mat.Dense
	out.Apply(func(_, _ int, v float64) float64 { return math.Exp(v) }, m)
	return &out
}

// tableOf is a file of the columns of one kind.
func tableOf(t testing.TB, write func(io.Writer, []*column) error, columns ...*column) []byte {
	t.Helper()
	slices.SortFunc(columns, func(a, b *column) int { return strings.Compare(a.name, b.name) }) // as columnsOf
	var out bytes.Buffer
	if err := write(&out, columns); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestTableFaults: each has one sentence that says where.
func TestTableFaults(t *testing.T) {
	scalar := func(name string, whole bool, values ...float64) *column {
		return &column{name: name, rows: len(values), whole: whole, values: values}
	}
	logits := &column{name: "logits", list: true, width: 2, rows: 2, values: []float64{1, 2, 3, 4}}
	for _, c := range []struct {
		columns []*column
		want    string
	}{
		{[]*column{scalar("label", true, 0, 1)}, "has no test_features"},
		{[]*column{logits, scalar("label", false, 0, 0.5)}, "save it as integers"},
		{[]*column{logits, scalar("label", true, 0, 7)}, "labels must lie in 0…1"},
		{[]*column{scalar("logits_0", false, 0, 1), scalar("logits_2", false, 0, 1)}, "no logits_1"},
		{[]*column{logits, scalar("set", true, 0, 1)}, "must say cal, val or test"},
		{[]*column{{name: "probs", list: true, width: 2, rows: 1, values: []float64{0.5, 0.6}}}, "sums to 1.1"},
	} {
		probs := c.columns[0].name == "probs"
		for _, kind := range tableKinds {
			path := tempFile(t, "x"+kind.ends[0], tableOf(t, kind.write, c.columns...))
			_, err := Open(path)
			if probs {
				_, err = ReadPredictions(path)
			} else if err == nil { // a table without a set is of test rows
				s, _ := Open(path)
				err = s.Require("test_features")
			}
			if err == nil || !isInput(err) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v does not say %q", kind.name, err, c.want)
			}
		}
	}
	ragged := &column{list: true}
	ragged.add(1, 2)
	ragged.add(1)
	if ragged.fault == nil || !strings.Contains(ragged.fault.Error(), "1 numbers at row 1 and 2 before") {
		t.Error(ragged.fault)
	}
}

// FuzzTableFile: whatever the bytes of a Parquet or Arrow file, arrays or an input error,
// and memory of the file's order.
func FuzzTableFile(f *testing.F) {
	for _, kind := range tableKinds {
		f.Add(tableOf(f, kind.write,
			&column{name: "label", rows: 2, whole: true, values: []float64{0, 1}},
			&column{name: "probs", list: true, width: 2, rows: 2, values: []float64{0.5, 0.5, 1, 0}}))
	}
	for _, name := range []string{"pyarrow.parquet", "pyarrow.feather", "pandas.feather"} {
		b, err := os.ReadFile(filepath.Join("testdata/tables", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := openTable("fuzz", bytes.NewReader(b), int64(len(b)))
		if err != nil {
			if !isInput(err) {
				t.Fatalf("%v is no input error", err)
			}
			return
		}
		if a == nil {
			return
		}
		if _, err := readSource(a, Names{}); err != nil && !isInput(err) {
			t.Fatalf("%v is no input error", err)
		}
	})
}

// TestTruthValuesAreLabels of two classes, in both kinds of table as in npz files.
func TestTruthValuesAreLabels(t *testing.T) {
	for _, name := range []string{"truth.parquet", "truth.feather"} {
		s, err := Open("testdata/tables/" + name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if want := []int{1, 0, 1}; s.Classes != 2 || !slices.Equal(s.Test.Labels, want) {
			t.Errorf("%s: %d classes, labels %v", name, s.Classes, s.Test.Labels)
		}
	}
}

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"calibra/data"
	"calibra/data/disk"

	"gonum.org/v1/gonum/mat"
)

// TestRows reads files back: the fit's rows, of more than one block, and predictions.
func TestRows(t *testing.T) {
	const n, d, c = blockRows + 5, 3, 4
	r := newRows(d, c)
	path := filepath.Join(t.TempDir(), "rows.npz")
	if err := disk.WriteNPZ(path, r.arrays([]part{{[3]string{"embedding", "logits", "labels"}, n}})...); err != nil {
		t.Fatal(err)
	}
	p, err := data.ReadPredictions(path)
	if err != nil {
		t.Fatal(err)
	}
	if rows, classes := p.LogProbs.Dims(); rows != n || classes != c || len(p.Labels) != n {
		t.Fatalf("%d×%d predictions and %d labels, want %d×%d", rows, classes, len(p.Labels), n, c)
	}
	x, err := data.ReadFeatures(path, "embedding")
	if err != nil {
		t.Fatal(err)
	}
	if _, single := x.(*data.Singles); !single {
		t.Errorf("the features are %T, want single precision", x)
	}
	last := r.block(0, blockRows, 5)
	for j := range d {
		if got := float32(x.At(n-1, j)); got != last.features[4*d+j] {
			t.Errorf("feature %d of the last row is %v, want %v", j, got, last.features[4*d+j])
		}
	}
	// The top class of the scores is the label more often than a quarter, and never always.
	right := 0
	for i, y := range p.Labels {
		if row := mat.Row(nil, i, p.LogProbs); row[y] == slices.Max(row) {
			right++
		}
	}
	if share := float64(right) / n; !(share > .5 && share < .99) {
		t.Errorf("%.2f of the labels are the top class", share)
	}
}

// TestKeep puts a figure in place of the same command's earlier one.
func TestKeep(t *testing.T) {
	dir := t.TempDir()
	for _, m := range []*measured{
		{command: "fit --method ts", rows: 10, features: 2, classes: 3, file: 1, peak: 2},
		{command: "apply, a model of ts", rows: 10, features: 2, classes: 3, file: 1, peak: 3},
		{command: "fit --method ts", rows: 10, features: 2, classes: 3, file: 1, peak: 4, interrupted: true},
	} {
		if err := page.Keep(dir, m.row()); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "RESULTS.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"| `apply`, a model of `ts` | 10 | 2 | 3 | 1 | 3 | 3.0 |",
		"| `fit --method ts` | 10 | 2 | 3 | 1 | 4 | 4.0 | 0.0 | 0.0 | 0 | no, interrupted |",
	} {
		if strings.Count(string(text), line) != 1 {
			t.Errorf("%q is not there once:\n%s", line, text)
		}
	}
}

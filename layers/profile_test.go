package layers

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"calibra/data"

	"gonum.org/v1/gonum/mat"
)

// throughAFile is the model file of a fit to cal that was written to path with its profile, and read again.
func throughAFile(t *testing.T, cal *data.Set, path string) (*Temperature, *Model) {
	t.Helper()
	var ts Temperature
	if err := ts.Fit(t.Context(), cal, nil, nil); err != nil {
		t.Fatal(err)
	}
	m, err := NewModel("ts", &ts)
	if err != nil {
		t.Fatal(err)
	}
	m.Profile = ProfileOf(cal)
	if err := m.Write(path); err != nil {
		t.Fatal(err)
	}
	read, err := ReadModel(path)
	if err != nil {
		t.Fatal(err)
	}
	return &ts, read
}

// TestRowsFarOutsideAreCounted: rows like those of the fit are near, rows of another
// scale are far, through a model file too, and an older file without moments says nothing.
func TestRowsFarOutsideAreCounted(t *testing.T) {
	cal, test := blobs(300, 1), blobs(50, 2)
	path := filepath.Join(t.TempDir(), "model.safetensors")
	ts, read := throughAFile(t, cal, path)
	if err := read.Restore(&Temperature{}); err != nil {
		t.Errorf("the moments of the inputs are taken for weights: %v", err)
	}
	if far := read.Profile.Far(test); far != "" {
		t.Errorf("rows like those of the fit: %s", far)
	}
	data.Dense(test.Features).Scale(255, test.Features)
	test.Logits.Set(7, 1, 1e5)
	far := read.Profile.Far(test)
	if !strings.Contains(far, "features of 50 of 50 rows") || !strings.Contains(far, "logits of 1 of 50 rows") || !strings.Contains(far, "row 7 the farthest") {
		t.Errorf("it says %q", far)
	}
	if err := WriteModel(path, "ts", ts); err != nil {
		t.Fatal(err)
	}
	read, err := ReadModel(path)
	if err != nil || read.Profile != nil || read.Profile.Far(test) != "" {
		t.Errorf("a file without moments: %v, %v", read, err)
	}
}

// TestMomentsFitIntoAModelFile, however large the values are.
func TestMomentsFitIntoAModelFile(t *testing.T) {
	x := blobs(4, 1)
	x.Features = mat.NewDense(4, 1, []float64{1.7e308, -1.7e308, 1.7e308, 1.7e308})
	m := ProfileOf(x).Features
	if !(math.Abs(m.Mean[0]) <= math.MaxFloat32) || !(m.SD[0] <= math.MaxFloat32) {
		t.Errorf("moments %v ± %v", m.Mean, m.SD)
	}
}

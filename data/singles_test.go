package data

import (
	"path/filepath"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// TestSelectSharesSingles: rows of rows are those rows, over the memory of the first.
func TestSelectSharesSingles(t *testing.T) {
	s := NewSingles([]float32{0, 1, 10, 11, 20, 21, 30, 31}, 2)
	part := Select(Select(s, []int{3, 1, 2}), []int{2, 0})
	if want := mat.NewDense(2, 2, []float64{20, 21, 30, 31}); !mat.Equal(part, want) || !mat.Equal(Dense(part), want) {
		t.Errorf("rows of rows are %v", mat.Formatted(part))
	}
	if of := part.(*Singles); &of.values[0] != &s.values[0] || of.index[0] != 2 || of.index[1] != 3 {
		t.Errorf("the rows %v are over other memory", of.index)
	}
	if got := mat.Col(nil, 1, part); got[0] != 21 || got[1] != 31 {
		t.Errorf("the column is %v", got)
	}
	if Select(nil, []int{1}) != nil || Select(s, nil) != nil {
		t.Error("no rows are some")
	}
}

// TestFeaturesKeepTheirPrecision: a file of single precision stays so, one of double does
// too, and both embed alike to the bit where single precision holds the numbers.
func TestFeaturesKeepTheirPrecision(t *testing.T) {
	x := correlated(300, 12, 3)
	x.Apply(func(_, _ int, v float64) float64 { return float64(float32(v)) }, x)
	single := make([]float32, 0, 300*12)
	for _, v := range x.RawMatrix().Data {
		single = append(single, float32(v))
	}
	path := filepath.Join(t.TempDir(), "f.npz")
	if err := writeNPZ(path, Array{"cal_features", x}); err != nil {
		t.Fatal(err)
	}
	src, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, dense := src.Cal.Features.(*mat.Dense); !dense {
		t.Errorf("a file of double precision is kept as %T", src.Cal.Features)
	}
	want, err := FitEmbedding(x, 3)
	if err != nil {
		t.Fatal(err)
	}
	got, err := FitEmbedding(NewSingles(single, 12), 3)
	if err != nil {
		t.Fatal(err)
	}
	if !mat.Equal(got.Axes, want.Axes) || !mat.Equal(got.Apply(NewSingles(single, 12)), want.Apply(x)) {
		t.Error("the embeddings differ")
	}
}

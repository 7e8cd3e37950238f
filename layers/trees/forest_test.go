package trees

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"calibra/data"

	"gonum.org/v1/gonum/mat"
)

// TestForestOfBytes has as many trees as fit, by the first twenty; what is no forest is not read.
func TestForestOfBytes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 0))
	x := data.Each(data.UpTo(1000), func(int) float32 { return rng.Float32() })
	s := NewSample(200, 5, func(dst []float32, i int) { copy(dst, x[5*i:]) }, &data.Set{Labels: data.Each(data.UpTo(200), func(i int) int { return i % 3 })}, 3)
	all, err := Growth{Trees: 80}.Forest(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	few, err := Growth{Trees: 80, Bytes: all.Bytes() / 2}.Forest(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	columns, thresholds := few.Nodes()
	if few.Bytes() != 4*(len(columns)+len(thresholds)) || math.Abs(float64(few.Bytes())/float64(all.Bytes())-0.5) > 0.03 || few.Len() >= 80 {
		t.Errorf("%d trees of %d bytes, where half of %d fit", few.Len(), few.Bytes(), all.Bytes())
	}
	for name, of := range map[string][2][]float64{
		"no node":            {nil, nil},
		"a lost leaf":        {columns[:len(columns)-1], thresholds},
		"a lost threshold":   {columns, thresholds[1:]},
		"one threshold more": {columns, append(slices.Clone(thresholds), 1)},
		"another column":     {append([]float64{1000}, columns[1:]...), thresholds},
		"another class":      {append(slices.Clone(columns[:len(columns)-1]), -1000), thresholds},
		"half a column":      {append([]float64{.5}, columns[1:]...), thresholds},
	} {
		if _, err := ReadForest(few.Columns, few.Classes, of[0], of[1], few.Shares); err == nil {
			t.Errorf("%s is read", name)
		}
	}
}

// TestEmbedIsTheProximity: the products of rows are the shares of the trees in which they end in one leaf, but for the
// signs that are drawn; a forest that was read places rows in the same way.
func TestEmbedIsTheProximity(t *testing.T) {
	const n, p = 60, 5
	rng := rand.New(rand.NewPCG(3, 0))
	x := data.Each(data.UpTo(n*p), func(int) float32 { return rng.Float32() })
	row := func(i int) []float32 { return x[p*i : p*i+p] }
	rows := func(dst []float32, i int) { copy(dst, row(i)) }
	labels := data.Each(data.UpTo(n), func(i int) int { return min(1, int(2*row(i)[0])) })
	f, err := Growth{Trees: 300}.Forest(t.Context(), NewSample(n, p, rows, &data.Set{Labels: labels}, 2))
	if err != nil {
		t.Fatal(err)
	}
	z := f.Embed(n, rows)
	columns, thresholds := f.Nodes()
	again, err := ReadForest(p, 2, columns, thresholds, f.Shares)
	if err != nil || !mat.Equal(again.Embed(n, rows), z) {
		t.Errorf("a forest that was read places rows elsewhere (%v)", err)
	}
	var squares, pairs float64
	for i := range n {
		for j := range i {
			shared := 0.0
			for _, tree := range f.trees {
				if leaf(tree, row(i)) == leaf(tree, row(j)) {
					shared += 1 / float64(f.Len())
				}
			}
			off := mat.Dot(z.RowView(i), z.RowView(j)) - shared
			squares, pairs = squares+off*off, pairs+1
			if !(math.Abs(off) < 5/math.Sqrt(128)) { // of 1,770 pairs none is five standard deviations off
				t.Errorf("rows %d and %d share %.3f of the leaves, and their product is off by %.3f", i, j, shared, off)
			}
		}
	}
	if deviation := math.Sqrt(squares / pairs); !(deviation < 1.1/math.Sqrt(128)) { // the bound, and the error of its estimate
		t.Errorf("the products are off by %.3f on the whole", deviation)
	}
}

package trees

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"calibra/data"
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
